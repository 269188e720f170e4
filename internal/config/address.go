package config

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// SetStore sets the address of the object store: host:port, or a URL with http or https.
func (e *Endpoints) SetStore(addr string) {
	e.Store.Endpoint = strings.TrimPrefix(strings.TrimPrefix(addr, "http://"), "https://")
	e.Store.TLS = strings.HasPrefix(addr, "https://")
}

// SetLocalStore sets the object store of this machine. It keeps only the bucket of the earlier configuration, because
// all other settings concern another store.
func (e *Endpoints) SetLocalStore(addr, access, secret string) {
	e.Store = store.Config{Bucket: e.Store.Bucket, Access: access, Secret: secret}
	e.SetStore(addr)
}

// StoreURL returns the address of the object store as a person writes it: host:port, or https://host:port.
func (e Endpoints) StoreURL() string {
	if e.Store.TLS {
		return "https://" + e.Store.Endpoint
	}

	return e.Store.Endpoint
}

// separator matches the commas between the addresses of a list. A comma that no address follows belongs to an address.
var separator = regexp.MustCompile(`\s*,\s*(https?://)`)

// Redacted returns an address, or a list of http addresses separated by commas, without passwords, for people, logs and
// errors.
func Redacted(addr string) string {
	if !strings.ContainsAny(addr, "@?") {
		return addr
	}
	list := strings.Split(separator.ReplaceAllString(addr, "\n$1"), "\n")
	for i, a := range list {
		list[i] = redacted(a)
	}

	return strings.Join(list, ",")
}

// redacted is Redacted for one address. An address that might hide a password in an unusual place is not shown at all.
func redacted(addr string) string {
	address, err := url.Parse(strings.TrimSpace(addr))
	if err != nil || address.User == nil && strings.Contains(addr, "@") || strings.Contains(address.Path, "@") {
		return "(an unreadable address)"
	}

	query := address.Query()
	for name := range query {
		if secretOption.MatchString(name) {
			query.Set(name, "xxxxx")
			address.RawQuery = query.Encode()
		}
	}

	return address.Redacted()
}

// secretOption matches the names of options that may hold secrets.
var secretOption = regexp.MustCompile(`(?i)pass|pw|token|secret|key|cred|auth`)

// checkStore returns an invalid fault if an address of the object store has more than a scheme, a host and a port.
func checkStore(addr string) error {
	_, host, found := strings.Cut(addr, "://")
	if !found {
		host = addr
	}
	if strings.ContainsAny(host, "@?#/ \t") || found && !strings.HasPrefix(addr, "http://") &&
		!strings.HasPrefix(addr, "https://") {
		return fault.New(fault.Invalid, "%s is not HOST:PORT, nor a URL of that alone with http or https: keys belong "+
			"in %s and %s, the bucket in %s", EnvS3, EnvAccess, EnvSecret, EnvBucket)
	}

	return nil
}
