package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/collabui/collabui/fault"
)

// redisTimeout limits every step of a request to Redis: a dead Redis must cost nothing.
const redisTimeout = 300 * time.Millisecond

// redisForms is what an address of Redis may look like.
const redisForms = "redis://USER:PASSWORD@HOST:PORT/DATABASE, redis+cluster://USER:PASSWORD@HOST:PORT,HOST:PORT or " +
	"redis+sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER/DATABASE, with rediss for TLS"

// silence is a logger that drops everything.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// The client of Redis has one logger for the whole process, which writes to the terminal of the person at whose command
// it runs. Its errors are returned, too.
func init() { redis.SetLogger(silence{}) }

// OpenRedis returns a client of Redis, or nil if there is no address. It makes no request. A dead Redis must cost
// nothing: timeouts are short, and nothing is tried again. User and password may change if the address is in a file. An
// address of another form is an invalid fault.
func (e Endpoints) OpenRedis() (redis.UniversalClient, error) {
	if e.Redis == "" {
		return nil, nil
	}
	a, err := parseRedis(e.Redis)
	if err != nil {
		return nil, fault.New(fault.Invalid, "redis address %s: %w; expected %s", Redacted(e.Redis), err, redisForms)
	}

	now := Live(EnvRedis, e.Redis)
	keys := func() (string, string) {
		if x, err := parseRedis(now()); err == nil {
			return x.options.Username, x.options.Password
		}

		return a.options.Username, a.options.Password
	}

	return a.open(keys), nil
}

// redisAddress is an address of Redis.
type redisAddress struct {
	kind    string   // cluster, sentinel or, for one server, nothing
	hosts   []string // host:port of nodes of the cluster, or of sentinels
	master  string   // as sentinels call it
	options *redis.Options
	queries url.Values
}

// open returns a client, which makes no request.
func (a redisAddress) open(keys func() (user, password string)) redis.UniversalClient {
	o := a.options
	switch a.kind {
	case "cluster":
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: a.hosts, CredentialsProvider: keys, TLSConfig: o.TLSConfig,
			DialTimeout: redisTimeout, ReadTimeout: redisTimeout, WriteTimeout: redisTimeout,
			MaxRetries: -1, DialerRetries: 1,
		})
	case "sentinel":
		return redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: a.master, SentinelAddrs: a.hosts, DB: o.DB, CredentialsProvider: keys, TLSConfig: o.TLSConfig,
			SentinelUsername: a.queries.Get(sentinelUser), SentinelPassword: a.queries.Get(sentinelPassword),
			DialTimeout: redisTimeout, ReadTimeout: redisTimeout, WriteTimeout: redisTimeout,
			MaxRetries: -1, DialerRetries: 1,
		})
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = redisTimeout, redisTimeout, redisTimeout
	o.MaxRetries = -1
	o.CredentialsProvider = keys

	return redis.NewClient(o)
}

// The user and the password of sentinels, in the query of an address.
const (
	sentinelUser     = "sentinel_username"
	sentinelPassword = "sentinel_password"
)

// severalHosts matches addresses with a kind: the protocol, the kind, user and password, hosts, path and query.
var severalHosts = regexp.MustCompile(`^(rediss?)\+([a-z]+)://(?:([^/?]*)@)?([^/?@]*)(/[^?]*)?(?:\?(.*))?$`)

// parseRedis reads an address. Its errors hold no password.
func parseRedis(addr string) (a redisAddress, err error) {
	parts := severalHosts.FindStringSubmatch(addr)
	if parts == nil {
		u, err := url.Parse(addr)
		if err != nil || u.Opaque != "" || !slices.Contains([]string{"redis", "rediss", "unix"}, u.Scheme) {
			return a, errors.New("it is no redis:// URL with a host")
		}
		if a.options, err = redis.ParseURL(addr); err != nil { // it names options and databases, not users
			return a, fmt.Errorf("it cannot be used: %w", err)
		}

		return a, nil
	}
	protocol, user, path := parts[1], parts[3], strings.Split(strings.Trim(parts[5], "/"), "/")
	a.kind = parts[2]
	if a.queries, err = url.ParseQuery(parts[6]); err != nil {
		return a, errors.New("its query cannot be read")
	}

	port, known := "6379", []string{}
	switch a.kind {
	case "cluster":
		if path[0] != "" {
			return a, fmt.Errorf("a cluster has no database %q", strings.Join(path, "/"))
		}
	case "sentinel":
		if path[0] == "" || len(path) > 2 {
			return a, errors.New("it must name the master that the sentinels watch")
		}
		a.master, path = path[0], path[1:]
		port, known = "26379", []string{sentinelUser, sentinelPassword}
	default:
		return a, fmt.Errorf("%q is neither cluster nor sentinel", a.kind)
	}
	for name := range a.queries {
		if !slices.Contains(known, name) {
			return a, fmt.Errorf("it has an unknown option %q", name)
		}
	}
	if a.hosts, err = redisHosts(parts[4], port); err != nil {
		return a, err
	}

	if user != "" {
		user += "@"
	}
	one := fmt.Sprintf("%s://%s%s/%s", protocol, user, a.hosts[0], strings.Join(path, "/"))
	if a.options, err = redis.ParseURL(one); err != nil {
		return a, errors.New("user, password or database cannot be read")
	}
	if a.options.TLSConfig != nil {
		a.options.TLSConfig.ServerName = "" // every host has its own name
	}

	return a, nil
}

// redisHosts reads a list of hosts with or without a port.
func redisHosts(list, port string) (hosts []string, err error) {
	for host := range strings.SplitSeq(list, ",") {
		name, own, err := net.SplitHostPort(host)
		if err != nil {
			name, own = strings.Trim(host, "[]"), port
		}
		if name == "" || strings.ContainsAny(name, " \t") {
			return nil, fmt.Errorf("%q is no host", host)
		}
		hosts = append(hosts, net.JoinHostPort(name, cmp.Or(own, port)))
	}

	return hosts, nil
}

// CheckRedis finds out what a server is. A cluster or a sentinel that is addressed as one server is an invalid fault,
// because it would refuse some keys, or all. If a server cannot be reached, the error is another one. A server that
// does not answer such questions is no error.
func CheckRedis(ctx context.Context, client redis.UniversalClient) error {
	if err := client.Ping(ctx).Err(); err != nil {
		return fault.New(fault.Transient, "redis: %w", err)
	}
	one, single := client.(*redis.Client)
	if !single {
		return nil
	}
	said, err := one.Info(ctx, "server").Result()
	if err != nil {
		return nil // it may be forbidden, or unknown to a server that does without
	}
	for line := range strings.Lines(said) {
		name, mode, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "redis_mode" && name != "server_mode" { // Valkey 9 has the second
			continue
		}
		switch mode {
		case "cluster":
			return fault.New(fault.Invalid, "this Redis is a cluster: write redis+cluster:// (rediss+cluster:// with TLS) "+
				"in %s", EnvRedis)
		case "sentinel":
			return fault.New(fault.Invalid, "this Redis is a sentinel: write redis+sentinel://HOST:PORT/MASTER "+
				"(rediss+sentinel:// with TLS) in %s", EnvRedis)
		}
	}

	return nil
}

// CheckRedisKind returns an invalid fault if what is at the address of Redis is not what the address says, which would
// be half used. A Redis that is down is no error.
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
