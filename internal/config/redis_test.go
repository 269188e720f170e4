package config

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/collabui/collabui/fault"
)

func TestAddressesOfRedisAreReadInAllForms(t *testing.T) {
	for address, check := range map[string]func(redis.UniversalClient) (string, bool){
		"redis://u:p@h:1/2": func(c redis.UniversalClient) (string, bool) {
			x, ok := c.(*redis.Client)

			return x.Options().Addr + " " + x.Options().Username, ok && x.Options().DB == 2
		},
		"rediss+cluster://u:p%40@a:1?addr=b:6&addr=[::1]:3": func(c redis.UniversalClient) (string, bool) {
			x, ok := c.(*redis.ClusterClient)
			o := x.Options()
			user, password := o.CredentialsProvider()

			return strings.Join(o.Addrs, " ") + " " + user + " " + password,
				ok && o.TLSConfig != nil && o.TLSConfig.ServerName == ""
		},
		"redis+cluster://a?addr=b:1": func(c redis.UniversalClient) (string, bool) {
			x, ok := c.(*redis.ClusterClient)

			return strings.Join(x.Options().Addrs, " "), ok && x.Options().TLSConfig == nil
		},
	} {
		want := map[string]string{
			"redis://u:p@h:1/2": "h:1 u",
			"rediss+cluster://u:p%40@a:1?addr=b:6&addr=[::1]:3": "a:1 b:6 [::1]:3 u p@",
			"redis+cluster://a?addr=b:1":                        "a:6379 b:1",
		}[address]
		c, err := Endpoints{Redis: address}.OpenRedis()
		if err != nil {
			t.Errorf("OpenRedis(%s) = %v, want a client", address, err)
			continue
		}
		if got, ok := check(c); got != want || !ok {
			t.Errorf("OpenRedis(%s) has %q, as it should be: %v; want %q", address, got, ok, want)
		}
		_ = c.Close()
	}
}

func TestAddressesOfSentinelsAreRead(t *testing.T) {
	a, err := parseRedis("rediss+sentinel://s:q@a:1/3?master_name=main&username=u&password=p&addr=b:2")
	if err != nil {
		t.Fatal(err)
	}
	o := a.sentinels
	if got, want := strings.Join(o.SentinelAddrs, " "), "a:1 b:2"; got != want || o.MasterName != "main" || o.DB != 3 ||
		a.user != "u" || a.password != "p" || o.SentinelUsername != "s" || o.SentinelPassword != "q" ||
		o.TLSConfig == nil || o.TLSConfig.ServerName != "" {
		t.Errorf("parseRedis = %+v, want the sentinels %s, main, database 3, u, s and TLS", o, want)
	}
}

func TestWhatIsNotSupportedOfRedisIsRefused(t *testing.T) {
	for address, want := range map[string]string{
		"http://h":                           "no redis:// URL",
		"redis:10.0.0.5":                     "no redis:// URL",
		"redis://u:secret@h/abc":             "invalid database number",
		"redis://h/0?password=secret":        "unexpected option: password",
		"redis://u:secret@h?dial_timeout=zz": "invalid dial_timeout",
		"redis+ring://h":                     "neither cluster nor sentinel",
		"redis+cluster://":                   "no host",
		"redis+cluster://a?addr=:1":          "unable to parse addr",
		"redis+cluster://a/1":                "no database",
		"redis+cluster://a?frob=3s":          "unexpected option",
		"redis+sentinel://a":                 "name the master",
		"redis+sentinel://a/x?master_name=m": "invalid database number",
		"redis+sentinel://u:secret@a?frob=3": "unexpected option",
		"redis+sentinel://u:secret@a:x y":    "no redis:// URL",
	} {
		_, err := Endpoints{Redis: address}.OpenRedis()
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "redis+cluster://USER") || strings.Contains(err.Error(), "secret") {
			t.Errorf("OpenRedis(%s) = %v; want an invalid fault with %q, the forms and no password", address, err, want)
		}
	}
}
