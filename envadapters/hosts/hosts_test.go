package hosts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/test/kit/nameserver"
)

// names are the records of the tests' name server.
var names = map[string]string{
	"cloud.example": "169.254.169.254", "six.example": "fe80::1", "aws.example": "fd00:ec2::254",
	"mapped.example": "64:ff9b::a9fe:a9fe", "self.example": "127.0.0.1", "self6.example": "::1",
	"any.example": "0.0.0.0", "metadata.example": "100.100.100.200", "private.example": "192.0.2.9",
	"2130706433": "127.0.0.1", // as some resolvers read it
}

// TestMetadataServicesAreNeverReached expects that no list allows the services, and that no spelling or name hides
// them.
func TestMetadataServicesAreNeverReached(t *testing.T) {
	nameserver.Start(t, names)
	for _, host := range []string{
		"169.254.169.254", "169.254.0.1", "169.254.170.2", "fe80::1", "fe80::1%lo", "febf::1", "fd00:ec2::254",
		"fd20:ce::254", "100.100.100.200", "192.0.0.192", "168.63.129.16", "::ffff:169.254.169.254",
		"::ffff:a9fe:a9fe", "0:0:0:0:0:ffff:a9fe:a9fe", "64:ff9b::169.254.169.254", "64:ff9b:1::a9fe:a9fe",
		"2002:a9fe:a9fe::1", "::169.254.169.254", "::ffff:0:169.254.169.254", "64:ff9b::100.100.100.200",
		"metadata.google.internal", "METADATA.google.internal.", "metadata.goog", "metadata", "instance-data",
		"cloud.example", "six.example", "aws.example", "mapped.example", "metadata.example", "Cloud.Example.",
	} {
		for _, list := range []string{"*", Anywhere, host, net.JoinHostPort(host, "80")} {
			_, err := Parse(Env, list).Dial(t.Context(), "tcp", net.JoinHostPort(host, "80"), time.Second)
			if Refused(err) == nil || fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), Env) ||
				!strings.Contains(err.Error(), "never connects to "+host) {
				t.Errorf("%s with the list %s: %v (%s), want an invalid fault that names %s and the host", host, list,
					err, fault.KindOf(err), Env)
			}
		}
	}
	for _, host := range []string{
		"2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.16689662", "0xA9.254.0xa9.0xfe",
	} {
		_, err := Parse(Env, "*").Dial(t.Context(), "tcp", host+":80", time.Second)
		if Refused(err) == nil || !strings.Contains(err.Error(), "expected a name, or an address") {
			t.Errorf("%s: %v, want a refusal of the spelling", host, err)
		}
	}
}

// TestTheLoopbackIsReachedIfItIsListed covers the loopback's addresses and names that resolve to it.
func TestTheLoopbackIsReachedIfItIsListed(t *testing.T) {
	nameserver.Start(t, names)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	four := []string{"127.0.0.1", "localhost", "::ffff:127.0.0.1", "self.example", "any.example", "0.0.0.0"}
	six := []string{"::1", "::", "self6.example", "127.9.9.9", "::127.0.0.1", "a.localhost", "LocalHost."}
	for list, reached := range map[string]bool{
		"*": false, "127.0.0.1.example,*": false, "*,localhost": true, "*,127.0.0.1:" + port: true,
		"*,http://localhost:" + port: true, "*,localhost:1": false, "*,[::1]:" + port: true, "*,LOCALHOST": true,
		"": false, "self.example": false,
	} {
		for _, host := range append(four, six...) {
			c, err := Parse(Env, list).Dial(t.Context(), "tcp", net.JoinHostPort(host, port), time.Second)
			if err == nil {
				_ = c.Close()
			}
			if no := Refused(err); (no == nil) != reached {
				t.Errorf("%s with the list %q: %v, want it reached: %v", host, list, err, reached)
			} else if no != nil && (!strings.Contains(err.Error(), Env) || !strings.Contains(err.Error(), port)) {
				t.Errorf("%s with the list %q: %v, want the variable %s and the port", host, list, err, Env)
			}
		}
	}
}

func TestHostsThatAreNotListedAreRefused(t *testing.T) {
	nameserver.Start(t, names)
	for list, want := range map[string]string{
		"*":                                "private.example api.example:8443 192.0.2.9 [2001:db8::1]",
		"*.example":                        "private.example api.example:8443",
		"api.example:8443":                 "api.example:8443",
		" 192.0.2.9 , API.example.:8443,,": "192.0.2.9 api.example:8443",
		"[2001:db8::1]:80":                 "[2001:db8::1]",
		"2001:db8::1":                      "[2001:db8::1]",
		"http://user:word@api.example/v1":  "api.example:8443",
		"example":                          "",
	} {
		for _, address := range []string{
			"private.example", "api.example:8443", "192.0.2.9", "[2001:db8::1]", "evil.test",
		} {
			u := &url.URL{Scheme: "http", Host: address}
			err := Parse(Env, list).check(u.Hostname(), Port(u))
			listed := list == "*" || strings.Contains(" "+want+" ", " "+address+" ")
			if (err == nil) != listed {
				t.Errorf("%s with the list %q: %v, want it allowed: %v", address, list, err, listed)
			} else if err != nil && !strings.Contains(err.Error(), "to its list "+Env) {
				t.Errorf("%s with the list %q: %v, want %s", address, list, err, Env)
			}
		}
	}
}

// TestAProxyIsNoWayAround covers a proxy that resolves names itself, so that only their spelling can be checked. The
// proxy is a host, too.
func TestAProxyIsNoWayAround(t *testing.T) {
	var requests atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(proxy.Close)
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	get := func(list, address string) error {
		transport := &http.Transport{Proxy: http.ProxyURL(at)}
		Hold(transport, func() List { return Parse(Env, list) }, time.Second)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := transport.RoundTrip(req)
		if err == nil {
			_ = res.Body.Close()
		}

		return err
	}

	allowed := "*," + at.Host
	if err := get(allowed, "http://api.example/"); err != nil || requests.Load() != 1 {
		t.Errorf("through a listed proxy: %v after %d requests, want an answer", err, requests.Load())
	}
	for _, address := range []string{
		"http://169.254.169.254/", "http://metadata.google.internal/", "http://2852039166/", "https://[fe80::1]/",
		"http://127.0.0.1:1/", "http://localhost/", "http://169。254。169。254/",
	} {
		if err := get(allowed, address); Refused(err) == nil {
			t.Errorf("%s through a proxy: %v, want a refusal", address, err)
		}
	}
	if err := get("*", "http://api.example/"); Refused(err) == nil {
		t.Errorf("through a proxy of the loopback that is not listed: %v, want a refusal", err)
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("the proxy got %d requests, want 1", n)
	}
}

func TestTheListOfThisProcess(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		t.Setenv(name, "")
	}
	check := func(want string) {
		t.Helper()
		var got []string
		for _, address := range []string{"localhost:1", "127.0.0.1:3128", "api.example:443", "envs.example:80"} {
			host, port, _ := net.SplitHostPort(address)
			if Worker("ws://envs.example:80").check(host, port) == nil {
				got = append(got, address)
			}
		}
		if text := fmt.Sprint(got); text != want {
			t.Errorf("with %q: reached %s, want %s", Worker().entries, text, want)
		}
	}

	t.Setenv(Env, "")
	check("[localhost:1 127.0.0.1:3128 api.example:443 envs.example:80]")
	t.Setenv(Env, Beyond)
	check("[api.example:443 envs.example:80]")
	t.Setenv(Env, "nothing.example")
	check("[envs.example:80]")
	t.Setenv("HTTPS_PROXY", "http://user:word@127.0.0.1:3128/")
	check("[127.0.0.1:3128 envs.example:80]")
}

// TestOtherErrorsAreNoRefusals expects no refusal for errors that may be temporary.
func TestOtherErrorsAreNoRefusals(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Parse(Env, "*").Dial(ctx, "tcp", "192.0.2.1:1", time.Second)
	if err == nil || Refused(err) != nil || Refused(errors.New("x")) != nil {
		t.Errorf("got the error %v and the refusal %v, want an error that is none", err, Refused(err))
	}
}
