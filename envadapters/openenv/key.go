package openenv

import (
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/collabui/collabui/fault"
)

// EnvKey is the environment variable of the key that servers of environments ask for, if they can be reached from other
// machines. EnvKey with _FILE names a file that holds it.
const EnvKey = "COLLABUI_ENVS_KEY"

// Key returns the key, or "" if there is none.
func Key() (string, error) {
	path := os.Getenv(EnvKey + "_FILE")
	if path == "" {
		return strings.TrimSpace(os.Getenv(EnvKey)), nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fault.New(fault.Invalid, "%s_FILE: %w", EnvKey, err)
	}

	return strings.TrimSpace(string(raw)), nil
}

// EnvHosts is the environment variable that lists the hosts to which the key is sent besides this machine, separated by
// commas. Specifications name addresses, and must not decide who gets the key.
const EnvHosts = "COLLABUI_ENVS_HOSTS"

// Authorize adds the key to the header of a request to a server of environments, if there is one and the server may
// have it. Of several, the first is sent.
func Authorize(h http.Header, address string) error {
	keys, err := Key()
	if err != nil || keys == "" {
		return err
	}
	u, err := url.Parse(address)
	if err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	ip := net.ParseIP(u.Hostname())
	listed := slices.ContainsFunc(strings.Split(os.Getenv(EnvHosts), ","), func(host string) bool {
		return strings.EqualFold(strings.TrimSpace(host), u.Hostname())
	})
	if listed || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		h.Set("Authorization", "Bearer "+strings.Fields(keys)[0])
	}

	return nil
}
