package deploy

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pod is a template of pods, with the object that contains it.
type pod struct {
	where  string
	labels map[string]any
	spec   any
}

// pods returns the pods of all objects.
func pods(objects []object) []pod {
	var all []pod
	for _, o := range objects {
		if template := at(o, "spec", "template"); template != nil {
			labels, _ := at(template, "metadata", "labels").(map[string]any)
			all = append(all, pod{fmt.Sprint(o["kind"], " ", at(o, "metadata", "name")), labels, at(template, "spec")})
		}
	}

	return all
}

// containers returns all containers of a pod.
func (p pod) containers() []any {
	return append(list(p.spec, "initContainers"), list(p.spec, "containers")...)
}

// ports returns the ports of a pod by their names.
func (p pod) ports() map[string]int {
	all := map[string]int{}
	for _, c := range p.containers() {
		for _, x := range list(c, "ports") {
			all[fmt.Sprint(at(x, "name"))] = number(at(x, "containerPort"))
		}
	}

	return all
}

// selects reports whether a selector selects a pod.
func selects(selector any, p pod) bool {
	want, _ := selector.(map[string]any)

	return len(want) > 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(k string) bool {
		return want[k] != p.labels[k]
	})
}

// checkObjects checks objects against each other, and their commands against the code.
func checkObjects(t *testing.T, objects []object) {
	t.Helper()

	all := pods(objects)
	for _, p := range all {
		checkPod(t, p)
	}
	for _, o := range objects {
		name := fmt.Sprint(o["kind"], " ", at(o, "metadata", "name"))
		selector := at(o, "spec", "selector", "matchLabels")
		switch o["kind"] {
		case "Secret":
			t.Errorf("the chart has %s, want secrets by reference only", name)
		case "Service":
			selector = at(o, "spec", "selector")
			for _, p := range all {
				if selects(selector, p) {
					checkService(t, name, o, p)
				}
			}
		case "NetworkPolicy":
			selector = at(o, "spec", "podSelector", "matchLabels")
			checkNetwork(t, name, o, all)
		case "ServiceMonitor":
			checkMonitor(t, name, o, objects)
			continue
		case "ScaledObject":
			checkScaled(t, name, o, objects)
			continue
		case "Deployment", "StatefulSet", "PodDisruptionBudget":
		default:
			continue
		}
		if !slices.ContainsFunc(all, func(p pod) bool { return selects(selector, p) }) {
			t.Errorf("%s selects %v, want a pod of the chart", name, selector)
		}
	}
}

// checkPod checks the permissions of a pod, and its commands, ports, probes and times.
func checkPod(t *testing.T, p pod) {
	t.Helper()

	role := p.labels["app.kubernetes.io/component"]
	if at(p.spec, "securityContext", "runAsNonRoot") != true || at(p.spec, "automountServiceAccountToken") != false {
		t.Errorf("%s may run as root, or has the key of a service account; want neither", p.where)
	}
	seccomp := at(p.spec, "securityContext", "seccompProfile", "type")
	if seccomp != "RuntimeDefault" && seccomp != "Localhost" {
		t.Errorf("%s has the seccomp profile %v, want that of the runtime or one of the node", p.where, seccomp)
	}
	volumes, files := map[string]bool{}, map[string]bool{}
	for _, v := range list(p.spec, "volumes") {
		volumes[fmt.Sprint(at(v, "name"))] = true
		for _, source := range list(v, "projected", "sources") {
			for _, item := range list(source, "secret", "items") {
				files["/run/secrets/collabui/"+fmt.Sprint(at(item, "path"))] = true
			}
		}
	}
	checkFiles(t, p.where, fmt.Sprint(role), files)
	ports := p.ports()
	for _, c := range p.containers() {
		name := fmt.Sprint(p.where, " ", at(c, "name"))
		checkImage(t, name, fmt.Sprint(at(c, "image")))
		if s := at(c, "securityContext"); at(s, "readOnlyRootFilesystem") != true ||
			at(s, "allowPrivilegeEscalation") != false || fmt.Sprint(at(s, "capabilities", "drop")) != "[ALL]" {
			t.Errorf("%s has %v, want a read-only file system and no privileges", name, s)
		}
		if at(c, "resources", "requests") == nil || at(c, "resources", "limits", "memory") == nil {
			t.Errorf("%s requests %v, want requests and a limit of memory", name, at(c, "resources"))
		}
		for _, e := range list(c, "env") {
			if v := fmt.Sprint(at(e, "name")); holdsSecret(v) && at(e, "valueFrom", "secretKeyRef") == nil {
				t.Errorf("%s has %v, want a file or a reference", name, e)
			}
			if v := fmt.Sprint(at(e, "value")); strings.HasPrefix(v, "/run/secrets/collabui/") && !files[v] {
				t.Errorf("%s has %v, want one of the files %v", name, e, slices.Sorted(maps.Keys(files)))
			}
		}
		for _, m := range list(c, "volumeMounts") {
			if !volumes[fmt.Sprint(at(m, "name"))] {
				t.Errorf("%s mounts %v, want one of its volumes", name, at(m, "name"))
			}
		}
		for _, probe := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
			if get := at(c, probe, "httpGet"); get != nil && ports[fmt.Sprint(at(get, "port"))] == 0 {
				t.Errorf("the %s of %s asks %v, want one of its ports %v", probe, name, get, ports)
			}
		}
		if c := at(c, "name"); c != "worker" && c != "gateway" && c != "viewer" && c != "codec" {
			continue
		}

		var args []string
		for _, a := range list(c, "args") {
			args = append(args, a.(string))
		}
		checkCommand(t, name, args)
		for _, addr := range listens(args) {
			if !slices.Contains(slices.Collect(maps.Values(ports)), number(addr)) {
				t.Errorf("%s listens on %s, want it among its ports %v", name, addr, ports)
			}
		}
		if page(role) {
			continue
		}
		grace, drain := number(at(p.spec, "terminationGracePeriodSeconds")), number(after(args, "--drain"))
		if after(args, "--roles") != role || drain == 0 || grace < drain+10 {
			t.Errorf("%s of role %v runs %v and is killed after %d s; want its role, and 10 s more than --drain",
				name, role, args, grace)
		}
	}
}

// page reports whether a role serves pages to people, and has no work to drain.
func page(role any) bool { return role == "viewer" || role == "codec" }

func checkService(t *testing.T, name string, o object, p pod) {
	t.Helper()

	for _, x := range list(o, "spec", "ports") {
		want := fmt.Sprint(at(x, "targetPort"))
		role := p.labels["app.kubernetes.io/component"]
		none := strings.HasSuffix(name, "-workers") && (page(role) || role == "setup")
		if got := p.ports()[want]; !none && (got == 0 || got != number(at(x, "port")) && want != "http") {
			t.Errorf("%s has %v, and %s the ports %v; want the same", name, x, p.where, p.ports())
		}
	}
}

func checkMonitor(t *testing.T, name string, o object, objects []object) {
	t.Helper()

	for _, s := range objects {
		labels, _ := at(s, "metadata", "labels").(map[string]any)
		if s["kind"] != "Service" || !selects(at(o, "spec", "selector", "matchLabels"), pod{labels: labels}) {
			continue
		}
		for _, p := range list(s, "spec", "ports") {
			if at(p, "name") == at(list(o, "spec", "endpoints")[0], "port") {
				return
			}
		}
	}
	t.Errorf("%s asks nobody, want a Service with its port", name)
}

// scalerKeys are the keys of KEDA's Temporal scaler that the chart uses.
var scalerKeys = []string{"endpoint", "namespace", "taskQueue", "queueTypes", "targetQueueSize", "tlsServerName"}

func checkScaled(t *testing.T, name string, o object, objects []object) {
	t.Helper()

	target := at(o, "spec", "scaleTargetRef", "name")
	for _, d := range objects {
		if d["kind"] == "Deployment" && at(d, "metadata", "name") == target && at(d, "spec", "replicas") != nil {
			t.Errorf("%s scales %v, whose number of pods is fixed; want it free", name, target)
		}
	}
	for _, x := range list(o, "spec", "triggers") {
		keys, _ := at(x, "metadata").(map[string]any)
		for k := range keys {
			if !slices.Contains(scalerKeys, k) {
				t.Errorf("%s sets %s, want one of %v", name, k, scalerKeys)
			}
		}
		if q := fmt.Sprint(keys["taskQueue"]); !strings.HasSuffix(name, "-"+q) || q != "rollout" && q != "model" {
			t.Errorf("%s follows the queue %v, want its own, of rollout or model", name, q)
		}
	}
}

// definitions are the folders with the definitions of operators' objects, by API group.
var definitions = map[string]struct{ variable, pattern string }{
	"keda.sh":               {"COLLABUI_KEDA", "config/crd/bases/keda.sh_%ss.yaml"},
	"monitoring.coreos.com": {"COLLABUI_MONITORING", "example/prometheus-operator-crd/monitoring.coreos.com_%ss.yaml"},
}

// checkDefinitions checks the objects of operators against their definitions, if these are installed.
func checkDefinitions(t *testing.T, objects []object) {
	t.Helper()

	for _, o := range objects {
		group, version, _ := strings.Cut(fmt.Sprint(o["apiVersion"]), "/")
		d, exists := definitions[group]
		if !exists || os.Getenv(d.variable) == "" {
			continue
		}
		kind := strings.ToLower(fmt.Sprint(o["kind"]))
		raw, err := os.ReadFile(filepath.Join(os.Getenv(d.variable), fmt.Sprintf(d.pattern, kind)))
		if err != nil {
			t.Fatal(err)
		}
		checked := false
		for _, v := range list(decoded[object](t, kind, string(raw)), "spec", "versions") {
			if at(v, "name") == version {
				checkSchema(t, kind, o["spec"], at(v, "schema", "openAPIV3Schema", "properties", "spec"))
				checked = true
			}
		}
		if !checked {
			t.Errorf("%s has no version %s, want it", kind, version)
		}
	}
}

// typeOf returns the name of a value's type in schemas.
func typeOf(v any) string {
	switch v.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	}

	return "integer"
}

// checkSchema checks keys and types, which is the part of OpenAPI that mistakes violate.
func checkSchema(t *testing.T, where string, v, schema any) {
	t.Helper()

	kind := at(schema, "type")
	if kind != nil && kind != typeOf(v) && !(kind == "number" && typeOf(v) == "integer") {
		t.Errorf("%s is %v, want %v", where, v, kind)
		return
	}
	properties, _ := at(schema, "properties").(map[string]any)
	free := at(schema, "additionalProperties") != nil || at(schema, "x-kubernetes-preserve-unknown-fields") == true
	fields, _ := v.(map[string]any)
	for k, x := range fields {
		if properties[k] == nil && !free {
			t.Errorf("%s has %s, want one of %v", where, k, slices.Sorted(maps.Keys(properties)))
		} else if properties[k] != nil {
			checkSchema(t, where+"."+k, x, properties[k])
		}
	}
	for _, k := range list(schema, "required") {
		if fields[fmt.Sprint(k)] == nil {
			t.Errorf("%s lacks %v, want it", where, k)
		}
	}
	for i, x := range list(v) {
		checkSchema(t, fmt.Sprint(where, "[", i, "]"), x, at(schema, "items"))
	}
}
