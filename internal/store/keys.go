package store

import (
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/collabui/collabui/fault"
)

// credentials returns the credentials from Keys or, if Keys is nil, Access, Secret and Token. If these are empty too,
// it returns credentials from the places where AWS's own programs look for them.
func (c Config) credentials() *credentials.Credentials {
	switch {
	case c.Keys != nil:
		return credentials.New(keys(c.Keys))
	case c.Access == "" && c.Secret == "":
		return credentials.New(newAWSKeys())
	}

	return credentials.NewStaticV4(c.Access, c.Secret, c.Token)
}

// keys are credentials that may change at any time: they always count as expired, so the client retrieves them for each
// request.
type keys func() (access, secret, token string)

// Retrieve returns the current credentials.
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

// Times of AWS's keys.
const (
	readAgain     = time.Minute     // keys of the environment and of files may change without notice
	machineAnswer = 2 * time.Second // a machine that is not AWS's may not respond at all
	serviceAnswer = 10 * time.Second
)

// awsKeys provides the keys from the first place that has any, in the order of AWS's own programs.
type awsKeys struct {
	credentials.Chain
	nextSearch time.Time // when the places are searched again
}

func newAWSKeys() *awsKeys {
	machine := &credentials.IAM{Client: &http.Client{Timeout: machineAnswer}}
	places := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, machine}
	switch {
	case os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "":
		machine.Endpoint = os.Getenv("AWS_ENDPOINT_URL_STS")
		machine.Client.Timeout = serviceAnswer
	case os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")+os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "":
		machine.Client.Timeout = serviceAnswer
	case strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true"):
		places = places[:2]
	default:
		machine.Endpoint = strings.TrimSuffix(os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"), "/")
	}

	return &awsKeys{Chain: credentials.Chain{Providers: places}}
}

// Retrieve is RetrieveWithCredContext without a context.
func (k *awsKeys) Retrieve() (credentials.Value, error) { return k.RetrieveWithCredContext(nil) }

// RetrieveWithCredContext returns the current keys. It returns an invalid fault if it finds no keys.
func (k *awsKeys) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	value, err := k.Chain.RetrieveWithCredContext(cc)
	if err == nil && (value.AccessKeyID == "" || value.SecretAccessKey == "") {
		err = fault.New(fault.Invalid, "no keys for the object store: set COLLABUI_S3_ACCESS_KEY and "+
			"COLLABUI_S3_SECRET_KEY, or give keys as for AWS's programs, by AWS_ACCESS_KEY_ID, a file or a role")
	}
	k.nextSearch = time.Now().Add(readAgain)

	return value, err
}

// IsExpired reports whether the keys must be retrieved again.
func (k *awsKeys) IsExpired() bool { return k.Chain.IsExpired() || time.Now().After(k.nextSearch) }
