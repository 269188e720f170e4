// Package config says where services are. Addresses come from flags or the environment, secrets from the environment or from files that it names.
package config

import (
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// Endpoints are the addresses of everything that a process of ours talks to.
type Endpoints struct {
	Temporal    string // host:port
	TemporalKey string // API key; it needs TLS, which is then on
	TemporalTLS TLS
	Namespace   string
	UI          string // http address of the Temporal UI, for people
	Store       store.Config
	Redis       string // redis:// URL; empty: no live stream
	Policy      string // base URLs up to /v1, separated by commas
	PolicyKey   string // bearer token of all policy servers; empty: none
}

// TLS says how Temporal is reached beyond one machine. Any of its fields turns it on.
type TLS struct {
	On   bool   // with the system's roots and no client certificate
	CA   string // file with the only root certificates that are trusted
	Cert string // file with the client's certificate; Key belongs to it
	Key  string // file with its private key
	Name string // in the server's certificate, where it is not the host's
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
	EnvPolicyKey = "COLLABUI_POLICY_KEY"

	EnvTemporalKey = "COLLABUI_TEMPORAL_API_KEY"
	EnvTLS         = "COLLABUI_TEMPORAL_TLS" // 1 or 0
	EnvTLSCA       = "COLLABUI_TEMPORAL_TLS_CA"
	EnvTLSCert     = "COLLABUI_TEMPORAL_TLS_CERT"
	EnvTLSKey      = "COLLABUI_TEMPORAL_TLS_KEY"
	EnvTLSName     = "COLLABUI_TEMPORAL_TLS_NAME"
)

// FromEnv reads the endpoints; absent ones are empty.
func FromEnv() (Endpoints, error) {
	e := Endpoints{Temporal: os.Getenv(EnvTemporal), Namespace: or(os.Getenv(EnvNamespace), "collabui"), UI: os.Getenv(EnvUI), Redis: os.Getenv(EnvRedis), Policy: os.Getenv(EnvPolicy)}
	e.Store.Bucket = or(os.Getenv(EnvBucket), "collabui")
	e.SetStore(os.Getenv(EnvS3))
	e.TemporalTLS = TLS{CA: os.Getenv(EnvTLSCA), Cert: os.Getenv(EnvTLSCert), Key: os.Getenv(EnvTLSKey), Name: os.Getenv(EnvTLSName)}
	var err error
	if e.TemporalTLS.On, err = strconv.ParseBool(or(os.Getenv(EnvTLS), "0")); err != nil {
		return e, fault.New(fault.Invalid, "%s is %q; expected 1 or 0", EnvTLS, os.Getenv(EnvTLS))
	}
	for _, x := range e.secrets() {
		if *x.to, err = Secret(x.name); err != nil {
			return e, err
		}
	}
	return e, nil
}

type secret struct {
	name string
	to   *string
}

// secrets are the fields that Secret reads, with their variables.
func (e *Endpoints) secrets() []secret {
	return []secret{{EnvAccess, &e.Store.Access}, {EnvSecret, &e.Store.Secret}, {EnvPolicyKey, &e.PolicyKey}, {EnvTemporalKey, &e.TemporalKey}}
}

// Policies are the base URLs of the policy servers, each once.
func (e Endpoints) Policies() []string {
	var out []string
	for u := range strings.SplitSeq(e.Policy, ",") {
		if u = strings.TrimSuffix(strings.TrimSpace(u), "/"); u != "" && !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}

// TLS is the configuration for the connection to Temporal; nil where it is plain. A file that cannot be read or holds something else is an invalid fault that
// names it and its variable.
func (e Endpoints) TLS() (*tls.Config, error) {
	f := e.TemporalTLS
	if f == (TLS{}) && e.TemporalKey == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.Name}
	if f.CA != "" {
		pem, err := read(EnvTLSCA, f.CA)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fault.New(fault.Invalid, "%s: %s holds no PEM certificate", EnvTLSCA, f.CA)
		}
	}
	if f.Cert == "" && f.Key == "" {
		return c, nil
	}
	if f.Cert == "" || f.Key == "" {
		return nil, fault.New(fault.Invalid, "a client certificate for Temporal needs its private key: set both %s and %s", EnvTLSCert, EnvTLSKey)
	}
	cert, err := read(EnvTLSCert, f.Cert)
	if err != nil {
		return nil, err
	}
	key, err := read(EnvTLSKey, f.Key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s (%s) and %s (%s) are no certificate and its private key: %w", EnvTLSCert, f.Cert, EnvTLSKey, f.Key, err)
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

// read gives the content of a file that a variable names.
func read(name, path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s: %w", name, err)
	}
	return b, nil
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

// between parts a list of addresses; a comma elsewhere belongs to an address.
var between = regexp.MustCompile(`\s*,\s*(https?://)`)

// Redacted is an address, or a list of http addresses separated by commas, without the passwords that they may hold, for people, logs and errors.
func Redacted(addr string) string {
	if !strings.Contains(addr, "@") {
		return addr
	}
	list := strings.Split(between.ReplaceAllString(addr, "\n$1"), "\n")
	for i, a := range list {
		if u, err := url.Parse(strings.TrimSpace(a)); err != nil || u.User == nil && strings.Contains(a, "@") || strings.Contains(u.Path, "@") {
			list[i] = "(an unreadable address)"
		} else {
			list[i] = u.Redacted()
		}
	}
	return strings.Join(list, ",")
}

// Environ is the inverse of FromEnv: what a child process is given, behind what it inherits. Variables that name files with secrets are emptied: the secrets
// stand beside them.
func (e Endpoints) Environ() []string {
	on := "0"
	if e.TemporalTLS.On {
		on = "1"
	}
	out := []string{EnvTemporal + "=" + e.Temporal, EnvNamespace + "=" + e.Namespace, EnvUI + "=" + e.UI, EnvS3 + "=" + e.StoreURL(), EnvBucket + "=" + e.Store.Bucket,
		EnvRedis + "=" + e.Redis, EnvPolicy + "=" + e.Policy, EnvTLS + "=" + on, EnvTLSCA + "=" + e.TemporalTLS.CA, EnvTLSCert + "=" + e.TemporalTLS.Cert,
		EnvTLSKey + "=" + e.TemporalTLS.Key, EnvTLSName + "=" + e.TemporalTLS.Name}
	for _, x := range e.secrets() {
		out = append(out, x.name+"="+*x.to, x.name+"_FILE=")
	}
	return out
}

// Complete says which addresses are missing, in one error.
func (e Endpoints) Complete() error {
	var missing []string
	for _, x := range [][2]string{{e.Temporal, EnvTemporal}, {e.Store.Endpoint, EnvS3}, {strings.Join(e.Policies(), ","), EnvPolicy}} {
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
	b, err := read(name+"_FILE", path)
	return strings.TrimSpace(string(b)), err
}

func or(s, d string) string {
	if s == "" {
		return d
	}
	return s
}
