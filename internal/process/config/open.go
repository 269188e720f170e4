package config

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// silence is a logger that drops everything.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// The client of Redis has one logger for the whole process, which writes to the terminal of the person at whose command
// it runs. Its errors are returned, too.
func init() { redis.SetLogger(silence{}) }

// OpenStore returns the object store. It makes no request. Keys that are in files may change at any time. One key
// without the other, or a style that is none, is an invalid fault.
func (e Endpoints) OpenStore() (*store.S3, error) {
	c := e.Store
	if (c.Access == "") != (c.Secret == "") {
		return nil, fault.New(fault.Invalid, "of %s and %s only one is set: set both, or neither for the keys of "+
			"AWS's programs", EnvAccess, EnvSecret)
	}
	if c.Access != "" {
		access, secret, token := Live(EnvAccess, c.Access), Live(EnvSecret, c.Secret), Live(EnvToken, c.Token)
		c.Keys = func() (string, string, string) { return access(), secret(), token() }
	}

	return store.Open(c)
}

// OpenRedis returns a client of Redis, or nil if there is no address. It makes no request. A dead Redis must cost
// nothing: timeouts are short, and nothing is tried again. User and password may change if the address is in a file. An
// address that is not a redis:// or rediss:// URL is an invalid fault.
func (e Endpoints) OpenRedis() (*redis.Client, error) {
	if e.Redis == "" {
		return nil, nil
	}
	o, err := redis.ParseURL(e.Redis)
	if err != nil {
		return nil, fault.New(fault.Invalid, "redis address %s is not a redis:// URL", Redacted(e.Redis))
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = 300*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond
	o.MaxRetries = -1

	user, password, url := o.Username, o.Password, Live(EnvRedis, e.Redis)
	o.CredentialsProvider = func() (string, string) {
		if now, err := redis.ParseURL(url()); err == nil {
			return now.Username, now.Password
		}

		return user, password
	}

	return redis.NewClient(o), nil
}

// PolicyBearer returns a function that returns the key which is sent to policy servers: the first if there are several.
func (e Endpoints) PolicyBearer() func() string { return First(e.PolicyKeys()) }

// PolicyKeys returns a function that returns the keys which a policy server accepts, separated by white space.
func (e Endpoints) PolicyKeys() func() string { return Live(EnvPolicyKey, e.PolicyKey) }
