package store

import "github.com/minio/minio-go/v7/pkg/credentials"

// credentials returns those of Keys or, without it, Access and Secret.
func (c Config) credentials() *credentials.Credentials {
	if c.Keys == nil {
		return credentials.NewStaticV4(c.Access, c.Secret, "")
	}

	return credentials.New(keys(c.Keys))
}

// keys are credentials that may change at any time: the client asks for them again when they have expired, as they
// always have.
type keys func() (access, secret string)

// Retrieve returns the credentials of this moment.
func (k keys) Retrieve() (credentials.Value, error) {
	access, secret := k()

	return (&credentials.Static{Value: credentials.Value{
		AccessKeyID: access, SecretAccessKey: secret, SignerType: credentials.SignatureV4,
	}}).Retrieve()
}

// RetrieveWithCredContext is Retrieve.
func (k keys) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	return k.Retrieve()
}

// IsExpired returns true.
func (k keys) IsExpired() bool { return true }
