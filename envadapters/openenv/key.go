package openenv

import (
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/collabui/collabui/envadapters/hosts"
	"github.com/collabui/collabui/fault"
)

// EnvKey is the environment variable of the key that servers of environments require if they can be reached from other
// machines. EnvKey with _FILE names a file that contains the key.
const EnvKey = "COLLABUI_ENVS_KEY"

// Key returns the key, or "" if no key is set.
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

// EnvHosts is the environment variable that lists the servers to which the key is sent, separated by commas, as
// HOST:PORT, or HOST for all its ports. It exists because specifications name addresses, but must not decide who
// receives the key. The key is sent encrypted, or on the loopback; ws://HOST:PORT lists a server to which it is sent in
// clear, such as a server in a private network.
const EnvHosts = "COLLABUI_ENVS_HOSTS"

// Authorize adds the key to the header of a request to a server of environments, if a key is set and the server may
// have it. If there are several keys, it sends the first.
func Authorize(header http.Header, address string) error {
	keys, err := Key()
	if err != nil || keys == "" {
		return err
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	listed := func(entry string) bool { return mayHaveKey(strings.ToLower(strings.TrimSpace(entry)), parsed) }
	if slices.ContainsFunc(strings.Split(os.Getenv(EnvHosts), ","), listed) {
		header.Set("Authorization", "Bearer "+strings.Fields(keys)[0])
	}

	return nil
}

// mayHaveKey reports whether an entry of EnvHosts permits a server to receive the key.
func mayHaveKey(entry string, address *url.URL) bool {
	host, inClear := strings.CutPrefix(entry, "ws://")
	encrypted := address.Scheme == "wss" || address.Scheme == "https"
	name := strings.ToLower(address.Hostname())
	ip := net.ParseIP(name)
	loopback := name == "localhost" || ip != nil && ip.IsLoopback()
	if host == "" || !encrypted && !inClear && !loopback {
		return false
	}

	return host == name || host == net.JoinHostPort(name, hosts.Port(address))
}
