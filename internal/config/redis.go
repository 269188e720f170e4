package config

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/collabui/collabui/fault"
)

// redisTimeout bounds every step of a request to Redis, because a dead Redis must cost nothing.
const redisTimeout = 300 * time.Millisecond

// redisForms are the forms of an address of Redis.
const redisForms = "redis://USER:PASSWORD@HOST:PORT/DATABASE, " +
	"redis+cluster://USER:PASSWORD@HOST:PORT?addr=HOST:PORT or " +
	"redis+sentinel://HOST:PORT/DATABASE?master_name=NAME&username=USER&password=PASSWORD&addr=HOST:PORT, " +
	"with rediss for TLS"

// silence is a logger that discards everything.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// The Redis client has one logger for the whole process, which would write to a person's terminal. The client returns
// its errors in any case.
func init() { redis.SetLogger(silence{}) }

// OpenRedis returns a Redis client, or nil without an address. It makes no request. Because a dead Redis must cost
// nothing, timeouts are short and requests are not retried. User and password may change if the address is in a file.
// An address of another form is an invalid fault.
func (e Endpoints) OpenRedis() (redis.UniversalClient, error) {
	if e.Redis == "" {
		return nil, nil
	}
	address, err := parseRedis(e.Redis)
	if err != nil {
		return nil, fault.New(fault.Invalid, "redis address %s: %w; expected %s", Redacted(e.Redis), err, redisForms)
	}

	now := Live(EnvRedis, e.Redis)
	keys := func() (string, string) {
		if x, err := parseRedis(now()); err == nil {
			return x.user, x.password
		}

		return address.user, address.password
	}

	return address.open(keys), nil
}

// redisAddress is an address of Redis: of one server, of a cluster, or of the sentinels of a server.
type redisAddress struct {
	one            *redis.Options
	cluster        *redis.ClusterOptions
	sentinels      *redis.FailoverOptions
	user, password string
}

// open returns a client, which makes no request.
func (a redisAddress) open(keys func() (user, password string)) redis.UniversalClient {
	if clusterOptions := a.cluster; clusterOptions != nil {
		clusterOptions.DialTimeout = redisTimeout
		clusterOptions.ReadTimeout = redisTimeout
		clusterOptions.WriteTimeout = redisTimeout
		clusterOptions.MaxRetries = -1
		clusterOptions.DialerRetries = 1
		clusterOptions.CredentialsProvider = keys

		return redis.NewClusterClient(clusterOptions)
	}
	if failoverOptions := a.sentinels; failoverOptions != nil {
		failoverOptions.DialTimeout = redisTimeout
		failoverOptions.ReadTimeout = redisTimeout
		failoverOptions.WriteTimeout = redisTimeout
		failoverOptions.MaxRetries = -1
		failoverOptions.DialerRetries = 1
		failoverOptions.CredentialsProvider = keys

		return redis.NewFailoverClient(failoverOptions)
	}
	options := a.one
	options.DialTimeout = redisTimeout
	options.ReadTimeout = redisTimeout
	options.WriteTimeout = redisTimeout
	options.MaxRetries = -1
	options.CredentialsProvider = keys

	return redis.NewClient(options)
}

// parseRedis parses an address. Its errors contain no password: the library's errors contain options, hosts and
// databases only.
func parseRedis(addr string) (address redisAddress, err error) {
	parsed, err := url.Parse(addr)
	if err != nil || parsed.Opaque != "" {
		return address, errors.New("it is no redis:// URL with a host")
	}
	protocol, kind, _ := strings.Cut(parsed.Scheme, "+")
	if !slices.Contains([]string{"redis", "rediss", "unix"}, protocol) {
		return address, errors.New("it is no redis:// URL with a host")
	}
	if kind != "" && parsed.Host == "" {
		return address, errors.New("it has no host")
	}
	parsed.Scheme = protocol

	switch kind {
	case "":
		if address.one, err = redis.ParseURL(addr); err == nil {
			address.user = address.one.Username
			address.password = address.one.Password
		}
	case "cluster":
		if address.cluster, err = redis.ParseClusterURL(parsed.String()); err == nil {
			address.user = address.cluster.Username
			address.password = address.cluster.Password
			anyName(address.cluster.TLSConfig)
		}
		if strings.Trim(parsed.Path, "/") != "" {
			return address, fmt.Errorf("a cluster has no database %q", parsed.Path)
		}
	case "sentinel":
		if address.sentinels, err = redis.ParseFailoverURL(parsed.String()); err == nil {
			address.user = address.sentinels.Username
			address.password = address.sentinels.Password
			anyName(address.sentinels.TLSConfig)
			if address.sentinels.MasterName == "" {
				return address, errors.New("it must name the master that the sentinels watch, as master_name")
			}
		}
	default:
		return address, fmt.Errorf("%q is neither cluster nor sentinel", kind)
	}
	if err != nil {
		return address, fmt.Errorf("it cannot be used: %w", err)
	}

	return address, nil
}

// anyName permits several hosts to have different names in their certificates.
func anyName(config *tls.Config) {
	if config != nil {
		config.ServerName = ""
	}
}

// CheckRedis finds out the kind of a server. A cluster or a sentinel that is addressed as one server is an invalid
// fault, because it would refuse some or all keys. A server that cannot be reached is a transient fault. A server that
// does not report its kind is no error.
func CheckRedis(ctx context.Context, client redis.UniversalClient) error {
	if err := client.Ping(ctx).Err(); err != nil {
		return fault.New(fault.Transient, "redis: %w", err)
	}
	one, single := client.(*redis.Client)
	if !single {
		return nil
	}
	info, err := one.Info(ctx, "server").Result()
	if err != nil {
		return nil // the command may be forbidden, or unknown to the server
	}
	for line := range strings.Lines(info) {
		name, mode, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "redis_mode" && name != "server_mode" { // Valkey 9 uses the second name
			continue
		}
		switch mode {
		case "cluster":
			return fault.New(fault.Invalid, "this Redis is a cluster: write redis+cluster:// "+
				"(rediss+cluster:// with TLS) in %s", EnvRedis)
		case "sentinel":
			return fault.New(fault.Invalid, "this Redis is a sentinel: write "+
				"redis+sentinel://HOST:PORT?master_name=NAME (rediss+sentinel:// with TLS) in %s", EnvRedis)
		}
	}

	return nil
}

// CheckRedisKind returns an invalid fault if the address of Redis names another kind of server than the one that
// answers there. A Redis that is down is no error.
func (e Endpoints) CheckRedisKind(ctx context.Context) error {
	client, err := e.OpenRedis()
	if client == nil {
		return err
	}
	defer func() { _ = client.Close() }()
	if err := CheckRedis(ctx, client); fault.KindOf(err) == fault.Invalid {
		return err
	}

	return nil
}
