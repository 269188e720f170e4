package openenv

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/hosts"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/test/kit/nameserver"
)

// TestServersOfASpecificationAreHostsThatThisProcessMayReach expects no connection to other hosts, and no second
// attempt.
func TestServersOfASpecificationAreHostsThatThisProcessMayReach(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(server.Close)
	local := strings.Replace(server.URL, "http", "ws", 1) + "/ws"
	nameserver.Start(t, map[string]string{"cloud.example": "169.254.169.254"})

	t.Setenv(hosts.Env, hosts.Beyond)
	for _, address := range []string{local, "ws://cloud.example/ws", "wss://[::ffff:a9fe:a9fe]/ws"} {
		_, err := Dial(t.Context(), address)
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "servers: "+address) ||
			!strings.Contains(err.Error(), hosts.Env) {
			t.Errorf("%s: %v (%s), want an invalid fault with field, address and %s", address, err, fault.KindOf(err),
				hosts.Env)
		}
		suite, err := New(envadapters.Options{Suite: "openenv", Servers: []string{address}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := suite.Open(t.Context()); fault.KindOf(err) != fault.Invalid {
			t.Errorf("an environment at %s: %v (%s), want an invalid fault", address, err, fault.KindOf(err))
		}
		if s := suite.Servers(t.Context())[0]; !strings.Contains(s.Detail, hosts.Env) {
			t.Errorf("the server %s is %+v, want %s", address, s, hosts.Env)
		}
		_ = suite.Close()
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("the server got %d requests, want none", n)
	}

	t.Setenv(EnvHosts, strings.TrimSuffix(strings.TrimPrefix(local, "ws://"), "/ws")) // it may have the key
	if _, err := Dial(t.Context(), local); hosts.Refused(err) != nil || requests.Load() != 1 {
		t.Errorf("a server of %s: %v after %d requests, want one request", EnvHosts, err, requests.Load())
	}
}
