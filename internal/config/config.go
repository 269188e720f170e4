// Package config reads the addresses of services. Addresses come from the environment, and secrets from the environment
// or from files that it names.
package config

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// Endpoints are the addresses of all services that a process of collabui talks to.
type Endpoints struct {
	Temporal    string // host:port
	TemporalKey string // API key; it turns TLS on
	TemporalTLS TLS
	Namespace   string
	UI          string // http address of the Temporal UI, for people
	View        string // http address of the viewer, for people
	Codec       string // http address of the codec server, for the Temporal UI
	Store       store.Config
	Redis       string // redis:// URL; if empty, there is no live stream
	Policy      string // base URLs up to /v1, separated by commas
	PolicyKey   string // bearer token of all policy servers; if empty, no token is sent
}

// Environment variables. A secret may also be kept in a file, which the variable with the suffix _FILE names.
const (
	EnvTemporal  = "COLLABUI_TEMPORAL"
	EnvNamespace = "COLLABUI_NAMESPACE"
	EnvUI        = "COLLABUI_UI"
	EnvView      = "COLLABUI_VIEW"
	EnvCodec     = "COLLABUI_CODEC"
	EnvS3        = "COLLABUI_S3"
	EnvBucket    = "COLLABUI_BUCKET"
	EnvAccess    = "COLLABUI_S3_ACCESS_KEY"
	EnvSecret    = "COLLABUI_S3_SECRET_KEY"
	EnvToken     = "COLLABUI_S3_SESSION_TOKEN"
	EnvRegion    = "COLLABUI_S3_REGION" // before AWS_REGION and AWS_DEFAULT_REGION
	EnvStyle     = "COLLABUI_S3_STYLE"  // path or virtual
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

// file is the suffix of variables that name a file with a secret.
const file = "_FILE"

// defaultName is the default namespace and bucket.
const defaultName = "collabui"

// FromEnv returns the endpoints that the environment specifies. The others are empty.
func FromEnv() (Endpoints, error) {
	endpoints := Endpoints{
		Temporal:  os.Getenv(EnvTemporal),
		Namespace: cmp.Or(os.Getenv(EnvNamespace), defaultName),
		UI:        os.Getenv(EnvUI),
		View:      os.Getenv(EnvView),
		Codec:     os.Getenv(EnvCodec),
		Policy:    os.Getenv(EnvPolicy),
		TemporalTLS: TLS{
			CA:   os.Getenv(EnvTLSCA),
			Cert: os.Getenv(EnvTLSCert),
			Key:  os.Getenv(EnvTLSKey),
			Name: os.Getenv(EnvTLSName),
		},
	}
	endpoints.Store.Bucket = cmp.Or(os.Getenv(EnvBucket), defaultName)
	address := strings.TrimSuffix(strings.TrimSpace(os.Getenv(EnvS3)), "/")
	endpoints.SetStore(address)
	endpoints.Store.Region = cmp.Or(os.Getenv(EnvRegion), os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	endpoints.Store.Style = store.Style(os.Getenv(EnvStyle))

	err := checkStore(address)
	if err != nil {
		return endpoints, err
	}
	if endpoints.TemporalTLS.On, err = strconv.ParseBool(cmp.Or(os.Getenv(EnvTLS), "0")); err != nil {
		return endpoints, fault.New(fault.Invalid, "%s is %q; expected 1 or 0", EnvTLS, os.Getenv(EnvTLS))
	}
	for _, x := range endpoints.secrets() {
		if *x.to, err = Secret(x.name); err != nil {
			return endpoints, err
		}
	}

	return endpoints, nil
}

// secret is a field of Endpoints that Secret reads, with its variable.
type secret struct {
	name string
	to   *string
}

func (e *Endpoints) secrets() []secret {
	return []secret{
		{EnvAccess, &e.Store.Access},
		{EnvSecret, &e.Store.Secret},
		{EnvToken, &e.Store.Token},
		{EnvPolicyKey, &e.PolicyKey},
		{EnvTemporalKey, &e.TemporalKey},
		{EnvRedis, &e.Redis}, // its URL may contain a password
	}
}

// Environ is the inverse of FromEnv: the variables of a child process, to be appended to the variables that it
// inherits. It empties the variables that name files with secrets, because the secrets themselves are among the
// variables.
func (e Endpoints) Environ() []string {
	on := "0"
	if e.TemporalTLS.On {
		on = "1"
	}
	vars := []string{
		EnvTemporal + "=" + e.Temporal,
		EnvNamespace + "=" + e.Namespace,
		EnvUI + "=" + e.UI,
		EnvView + "=" + e.View,
		EnvCodec + "=" + e.Codec,
		EnvS3 + "=" + e.StoreURL(),
		EnvBucket + "=" + e.Store.Bucket,
		EnvRegion + "=" + e.Store.Region,
		EnvStyle + "=" + string(e.Store.Style),
		EnvPolicy + "=" + e.Policy,
		EnvTLS + "=" + on,
		EnvTLSCA + "=" + e.TemporalTLS.CA,
		EnvTLSCert + "=" + e.TemporalTLS.Cert,
		EnvTLSKey + "=" + e.TemporalTLS.Key,
		EnvTLSName + "=" + e.TemporalTLS.Name,
	}
	for _, x := range e.secrets() {
		vars = append(vars, x.name+"="+*x.to, x.name+file+"=")
	}

	return vars
}

// Complete returns an invalid fault that names all missing addresses.
func (e Endpoints) Complete() error {
	if missing := e.Missing(); len(missing) > 0 {
		return fault.New(fault.Invalid, "set %s", strings.Join(missing, ", "))
	}

	return nil
}

// Missing returns the variables of the addresses that workers need and that are missing.
func (e Endpoints) Missing() (missing []string) {
	require := func(name, value string) {
		if value == "" {
			missing = append(missing, name)
		}
	}
	require(EnvTemporal, e.Temporal)
	require(EnvS3, e.Store.Endpoint)
	require(EnvPolicy, strings.Join(e.Policies(), ","))

	return missing
}

// Policies returns the base URLs of the policy servers, without duplicates.
func (e Endpoints) Policies() []string {
	var urls []string
	for u := range strings.SplitSeq(e.Policy, ",") {
		u = strings.TrimSuffix(strings.TrimSpace(u), "/")
		if u != "" && !slices.Contains(urls, u) {
			urls = append(urls, u)
		}
	}

	return urls
}

// Secret returns the value of a variable, or the content of the file that the variable with the suffix _FILE names.
func Secret(name string) (string, error) {
	path := os.Getenv(name + file)
	if path == "" {
		return strings.TrimSpace(os.Getenv(name)), nil
	}
	data, err := read(name+file, path)

	return strings.TrimSpace(string(data)), err
}

// maxSecret is the largest size of a file with a secret or certificates, in bytes.
const maxSecret = 16 << 20

// read returns the content of a file that a variable names.
func read(name, path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s: %w", name, err)
	}
	defer func() { _ = f.Close() }()

	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1)) // it may be a pipe
	if err == nil && len(data) > maxSecret {
		err = fmt.Errorf("%s has more than %d bytes, which is no secret", path, maxSecret)
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s: %w", name, err)
	}

	return data, nil
}
