package store

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/collabui/collabui/fault"
)

// credentials returns those of Keys or, without it, Access, Secret and Token. If there are none, it returns those of
// the places where AWS's own programs look for them.
func (c Config) credentials() *credentials.Credentials {
	switch {
	case c.Keys != nil:
		return credentials.New(keys(c.Keys))
	case c.Access == "" && c.Secret == "":
		return credentials.New(&chain{sources: awsSources()})
	}

	return credentials.NewStaticV4(c.Access, c.Secret, c.Token)
}

// keys are credentials that may change at any time: the client asks for them again when they have expired, as they
// always have.
type keys func() (access, secret, token string)

// Retrieve returns the credentials of this moment.
func (k keys) Retrieve() (credentials.Value, error) {
	access, secret, token := k()

	return (&credentials.Static{Value: credentials.Value{
		AccessKeyID: access, SecretAccessKey: secret, SessionToken: token, SignerType: credentials.SignatureV4,
	}}).Retrieve()
}

// RetrieveWithCredContext is Retrieve.
func (k keys) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	return k.Retrieve()
}

// IsExpired returns true.
func (k keys) IsExpired() bool { return true }

// Times of the chain.
const (
	readAgain     = time.Minute      // keys of the environment and of files; others say when they expire
	searchAgain   = 10 * time.Second // after none was found
	machineAnswer = 2 * time.Second  // a machine that is not AWS's may not answer at all
	serviceAnswer = 10 * time.Second
)

// source is where keys may be.
type source struct {
	name string
	credentials.Provider
	changes bool // they change without notice
}

// awsSources are the places where AWS's own programs look for keys, in their order.
func awsSources() []source {
	machine := &credentials.IAM{Client: &http.Client{Timeout: machineAnswer}}
	name := "the machine's metadata"
	switch {
	case os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "":
		name, machine.Endpoint = "web identity", os.Getenv("AWS_ENDPOINT_URL_STS")
		machine.Client.Timeout = serviceAnswer
	case os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")+os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "":
		name, machine.Client.Timeout = "the container's credentials", serviceAnswer
	case strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true"):
		machine = nil
	default:
		machine.Endpoint = strings.TrimSuffix(os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"), "/")
	}
	sources := []source{
		{"AWS_ACCESS_KEY_ID", &credentials.EnvAWS{}, false},
		{"AWS's files", &credentials.FileAWSCredentials{}, true},
	}
	if machine != nil {
		sources = append(sources, source{name, machine, false})
	}

	return sources
}

// chain has the keys of the first place that has any. Later it asks that place alone. The client calls it from one
// goroutine at a time.
type chain struct {
	sources []source
	found   *source
	again   time.Time // when keys that change are read again, or the search is repeated
	none    error     // why there are no keys
}

// Retrieve is RetrieveWithCredContext without a context.
func (c *chain) Retrieve() (credentials.Value, error) { return c.RetrieveWithCredContext(nil) }

// RetrieveWithCredContext returns the keys of this moment, or an invalid fault if there are none.
func (c *chain) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	if c.none != nil && time.Now().Before(c.again) {
		return credentials.Value{}, c.none
	}
	sources := c.sources
	if c.found != nil {
		sources = []source{*c.found}
	}

	var why []error
	for _, p := range sources {
		v, err := p.RetrieveWithCredContext(cc)
		if err == nil && v.AccessKeyID != "" && v.SecretAccessKey != "" {
			c.found, c.none, c.again = &p, nil, time.Now().Add(readAgain)

			return v, nil
		}
		why = append(why, fmt.Errorf("%s: %w", p.name, cmp.Or(err, errors.New("none"))))
	}
	err := fault.New(fault.Invalid, "no keys for the object store: set COLLABUI_S3_ACCESS_KEY and "+
		"COLLABUI_S3_SECRET_KEY, or give keys as for AWS's programs (%s)", joined(why))
	if c.found == nil {
		c.none, c.again = err, time.Now().Add(searchAgain)
	}

	return credentials.Value{}, err
}

// joined returns errors in one line.
func joined(errs []error) string {
	var all []string
	for _, err := range errs {
		all = append(all, err.Error())
	}

	return strings.Join(all, "; ")
}

// IsExpired reports whether the keys must be retrieved again.
func (c *chain) IsExpired() bool {
	return c.found == nil || c.found.IsExpired() || c.found.changes && time.Now().After(c.again)
}
