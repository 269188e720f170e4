package deploy

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// readers are the roles that need a secret, by the folder of its files.
var readers = map[string]string{
	"policy":       "gpu model rollout serve",
	"payloads":     "codec control gpu model rollout viewer",
	"environments": "control rollout",
	"models":       "model rollout",
	"viewer":       "viewer",
	"codec":        "codec",
}

// checkFiles checks that a pod has no secret that its role does not need.
func checkFiles(t *testing.T, where, role string, files map[string]bool) {
	t.Helper()
	for _, file := range slices.Sorted(maps.Keys(files)) {
		folder, _, _ := strings.Cut(strings.TrimPrefix(file, "/run/secrets/collabui/"), "/")
		if roles := readers[folder]; roles != "" && !slices.Contains(strings.Fields(roles), role) {
			t.Errorf("%s has %s, want it for %s only", where, file, roles)
		}
	}
}

// checkNetwork checks that a policy opens only ports at which pods listen, and lets no pod reach the metadata service
// of its machine.
func checkNetwork(t *testing.T, name string, o object, all []pod) {
	t.Helper()
	for _, p := range all {
		if !selectedBy(at(o, "spec", "podSelector"), p) {
			continue
		}
		for _, rule := range list(o, "spec", "ingress") {
			if len(list(rule, "ports")) == 0 {
				t.Errorf("%s opens all ports of %s, want those at which it listens", name, p.where)
			}
			for _, x := range list(rule, "ports") {
				if port := number(at(x, "port")); !slices.Contains(slices.Collect(maps.Values(p.ports())), port) {
					t.Errorf("%s opens port %d of %s, want one of %v", name, port, p.where, p.ports())
				}
			}
		}
	}
	if name != "NetworkPolicy collabui" {
		return
	}
	if !slices.Contains(list(o, "spec", "policyTypes"), any("Egress")) {
		t.Errorf("%s has the types %v, want Egress among them", name, at(o, "spec", "policyTypes"))
	}
	for _, addr := range []string{"169.254.169.254", "169.254.170.2", "169.254.170.23", "fd00:ec2::254", "fe80::7"} {
		for _, port := range []int{80, 443} {
			if reaches(t, o, netip.MustParseAddr(addr), port) {
				t.Errorf("%s lets pods reach %s:%d, want no address of the machine's own network", name, addr, port)
			}
		}
	}
	if !reaches(t, o, netip.MustParseAddr("198.51.100.7"), 443) { // all examples use chat models
		t.Errorf("%s lets pods reach no server outside, want that of a chat model", name)
	}
}

// selectedBy reports whether a selector of a policy selects a pod. Of the operators of expressions it supports only In.
func selectedBy(selector any, p pod) bool {
	for _, e := range list(selector, "matchExpressions") {
		if at(e, "operator") != "In" || !slices.Contains(list(e, "values"), p.labels[fmt.Sprint(at(e, "key"))]) {
			return false
		}
	}

	return selects(at(selector, "matchLabels"), p)
}

// reaches reports whether the rules of a policy let a pod reach an address outside of the cluster.
func reaches(t *testing.T, policy object, addr netip.Addr, port int) bool {
	t.Helper()
	within := func(cidr any) bool {
		p, err := netip.ParsePrefix(fmt.Sprint(cidr))
		if err != nil {
			t.Errorf("%v, want a range of addresses", err)
		}

		return p.Contains(addr)
	}

	return slices.ContainsFunc(list(policy, "spec", "egress"), func(rule any) bool {
		ports, to := list(rule, "ports"), list(rule, "to")
		if len(ports) > 0 && !slices.ContainsFunc(ports, func(x any) bool { return number(at(x, "port")) == port }) {
			return false
		}

		return len(to) == 0 || slices.ContainsFunc(to, func(peer any) bool {
			block := at(peer, "ipBlock")

			return block != nil && within(at(block, "cidr")) && !slices.ContainsFunc(list(block, "except"), within)
		})
	})
}
