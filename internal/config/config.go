// Package config says where services are. Addresses come from flags or the environment, secrets from the environment or from files that it names.
package config

import (
	"net/url"
	"os"
	"strings"

	"github.com/collabui/collabui/internal/fault"
	"github.com/collabui/collabui/internal/store"
)

// Endpoints are the addresses of everything that a process of ours talks to.
type Endpoints struct {
	Temporal  string // host:port
	Namespace string
	UI        string // http address of the Temporal UI, for people
	Store     store.Config
	Redis     string // redis:// URL; empty: no live stream
	Policy    string // base URL up to /v1
}

// Names of environment variables. Secrets may also stand in a file, named by the variable with _FILE behind it.
const (
	EnvTemporal  = "COLLABUI_TEMPORAL"
	EnvNamespace = "COLLABUI_NAMESPACE"
	EnvUI        = "COLLABUI_UI"
	EnvS3        = "COLLABUI_S3"
	EnvBucket    = "COLLABUI_BUCKET"
	EnvAccess    = "COLLABUI_S3_ACCESS_KEY"
	EnvSecret    = "COLLABUI_S3_SECRET_KEY"
	EnvRedis     = "COLLABUI_REDIS"
	EnvPolicy    = "COLLABUI_POLICY"
)

// FromEnv reads the endpoints; absent ones are empty.
func FromEnv() (Endpoints, error) {
	e := Endpoints{Temporal: os.Getenv(EnvTemporal), Namespace: or(os.Getenv(EnvNamespace), "collabui"), UI: os.Getenv(EnvUI), Redis: os.Getenv(EnvRedis), Policy: os.Getenv(EnvPolicy)}
	e.Store.Bucket = or(os.Getenv(EnvBucket), "collabui")
	e.SetStore(os.Getenv(EnvS3))
	var err error
	if e.Store.Access, err = Secret(EnvAccess); err != nil {
		return e, err
	}
	e.Store.Secret, err = Secret(EnvSecret)
	return e, err
}

// SetStore takes host:port, or a URL with http or https.
func (e *Endpoints) SetStore(addr string) {
	e.Store.Endpoint, e.Store.TLS = strings.TrimPrefix(strings.TrimPrefix(addr, "http://"), "https://"), strings.HasPrefix(addr, "https://")
}

// StoreURL is the object store's address as a person gives it: host:port, or https://host:port.
func (e Endpoints) StoreURL() string {
	if e.Store.TLS {
		return "https://" + e.Store.Endpoint
	}
	return e.Store.Endpoint
}

// Redacted is an address without the password that a URL may hold, for people, logs and errors.
func Redacted(addr string) string {
	if !strings.Contains(addr, "@") {
		return addr
	}
	u, err := url.Parse(addr)
	if err != nil {
		return "(an unreadable address)"
	}
	return u.Redacted()
}

// Environ is the inverse of FromEnv: what a child process is given.
func (e Endpoints) Environ() []string {
	return []string{EnvTemporal + "=" + e.Temporal, EnvNamespace + "=" + e.Namespace, EnvUI + "=" + e.UI, EnvS3 + "=" + e.StoreURL(), EnvBucket + "=" + e.Store.Bucket,
		EnvAccess + "=" + e.Store.Access, EnvSecret + "=" + e.Store.Secret, EnvRedis + "=" + e.Redis, EnvPolicy + "=" + e.Policy}
}

// Complete says which addresses are missing, in one error.
func (e Endpoints) Complete() error {
	var missing []string
	for _, x := range [][2]string{{e.Temporal, EnvTemporal}, {e.Store.Endpoint, EnvS3}, {e.Policy, EnvPolicy}} {
		if x[0] == "" {
			missing = append(missing, x[1])
		}
	}
	if len(missing) > 0 {
		return fault.New(fault.Invalid, "set %s, or start local services with `collabui up`", strings.Join(missing, ", "))
	}
	return nil
}

// Secret reads a variable, or the file that the variable with _FILE behind it names.
func Secret(name string) (string, error) {
	path := os.Getenv(name + "_FILE")
	if path == "" {
		return os.Getenv(name), nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fault.New(fault.Invalid, "%s_FILE: %w", name, err)
	}
	return strings.TrimSpace(string(b)), nil
}

func or(s, d string) string {
	if s == "" {
		return d
	}
	return s
}
