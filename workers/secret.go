package workers

import (
	"net/url"
	"os"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/method/spec"
)

// secret reads a key that a model of a specification names: see config.ModelSecret. One that is missing, not listed, or
// listed for other hosts is an invalid fault, because a retry cannot supply it. The author of a specification also
// chooses the address that the value is sent to, so no other variable of this process may be named.
func secret(name string, model spec.Model) (string, error) {
	if name == "" {
		return "", nil
	}

	keys, list := config.ModelKeys()
	var listed, bound, reached bool
	for _, key := range keys {
		if key.Names(name) {
			listed = true
			bound = bound || key.Bound
			reached = reached || key.Bound && reaches(model, key.Host)
		}
	}

	switch {
	case !listed || strings.HasPrefix(name, "COLLABUI_"):
		return "", fault.New(fault.Invalid,
			"this worker gives no model the variable %s: its list %s has %s; add the name there and start it again",
			name, config.EnvModelKeys, list)
	case bound && !reached:
		return "", fault.New(fault.Invalid,
			"this worker does not send %s to %s: its list %s has %s; use that host, by https unless it has "+
				"http:// there, and without `proxy`",
			name, model.BaseURL, config.EnvModelKeys, list)
	case !bound && inClear(model):
		return "", fault.New(fault.Invalid,
			"this worker does not send %s to %s, because http does not encrypt it: use https, or add %s=http://HOST:PORT "+
				"to its list %s, which has %s", name, model.BaseURL, name, config.EnvModelKeys, list)
	}

	value, err := config.ModelSecret(name)
	if err != nil || value != "" {
		return value, err
	}
	if path := os.Getenv(config.EnvKeyFile); path != "" {
		return "", fault.New(fault.Invalid, "there is no value of %s: add the line %s=VALUE to %s, which only you may "+
			"read (mode 0600). It takes effect without a restart", name, name, path)
	}

	return "", fault.New(fault.Invalid, "this worker has no value of %s: set it, or %s_FILE, and start it again",
		name, name)
}

// reaches reports whether a model is on a host of the list, and its specification names no proxy on the way.
func reaches(model spec.Model, host string) bool {
	host, inClearToo := strings.CutPrefix(host, "http://")
	address, err := url.Parse(model.BaseURL)

	return err == nil && strings.EqualFold(address.Host, host) && model.Proxy == "" && (inClearToo || !inClear(model))
}

// inClear reports whether what is sent to a model could be read on the way.
func inClear(model spec.Model) bool {
	address, err := url.Parse(model.BaseURL)

	return err == nil && address.Scheme != "https" && !httpd.IsLoopback(address.Host)
}
