package config

import (
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/failpoint"
	"github.com/collabui/collabui/internal/store"
)

// OpenStore returns the object store. It makes no request. Keys from files may change at any time. One key without the
// other, or an unknown style, is an invalid fault.
func (e Endpoints) OpenStore() (*store.S3, error) {
	config := e.Store
	if (config.Access == "") != (config.Secret == "") {
		return nil, fault.New(fault.Invalid, "of %s and %s only one is set: set both, or neither for the keys of "+
			"AWS's programs", EnvAccess, EnvSecret)
	}
	if config.Access != "" {
		access := Live(EnvAccess, config.Access)
		secret := Live(EnvSecret, config.Secret)
		token := Live(EnvToken, config.Token)
		config.Keys = func() (string, string, string) { return access(), secret(), token() }
	}

	bucket, err := store.Open(config)
	if err == nil && failpoint.Set() {
		bucket.Surround(failing)
	}

	return bucket, err
}

// PolicyBearer returns a function that returns the key that is sent to policy servers: the first if there are several.
func (e Endpoints) PolicyBearer() func() string { return First(e.PolicyKeys()) }

// PolicyKeys returns a function that returns the keys that a policy server accepts, separated by white space.
func (e Endpoints) PolicyKeys() func() string { return Live(EnvPolicyKey, e.PolicyKey) }
