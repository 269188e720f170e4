package openenv

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

func TestTheKeyIsSentToListedServersOnly(t *testing.T) {
	t.Setenv(EnvKey, "canary\nthe-key-before") // of several keys, the first is sent
	t.Setenv(EnvHosts, "gpu-1.example, 10.0.0.5:8001,127.0.0.1:8000, [::1]:8000,ws://emulator:8000,ws://lab.example")
	for address, want := range map[string]bool{
		"ws://127.0.0.1:8000/ws":         true,
		"http://127.0.0.1:8000/health":   true,
		"ws://[::1]:8000/ws":             true,
		"wss://GPU-1.example/ws":         true,
		"https://gpu-1.example:8443/x":   true,
		"https://10.0.0.5:8001/ready":    true,
		"ws://emulator:8000/ws":          true,
		"wss://emulator:8000/ws":         true,
		"ws://lab.example:1234/ws":       true,
		"ws://127.0.0.1:8001/ws":         false, // another service of this machine
		"ws://localhost:8000/ws":         false,
		"ws://gpu-1.example/ws":          false, // in clear
		"http://10.0.0.5:8001/ready":     false,
		"https://10.0.0.5/ready":         false,
		"ws://emulator:8001/ws":          false,
		"ws://evil.example/ws":           false,
		"wss://gpu-1.example.evil/ws":    false,
		"ws://127.0.0.1.evil.example/ws": false,
		"wss://10.0.0.50:8001/ws":        false,
	} {
		h := http.Header{}
		if err := Authorize(h, address); err != nil {
			t.Fatal(err)
		}
		if got := h.Get("Authorization") == "Bearer canary"; got != want {
			t.Errorf("the key is sent to %s: %v, want %v", address, got, want)
		}
	}
}

// TestRedirectsAreNotFollowed lets a server that may have the key redirect to another service of the machine.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var requests atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer inside.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		srv := httptest.NewServer(http.RedirectHandler(inside.URL+"/latest/meta-data/", status))
		address := strings.Replace(srv.URL, "http", "ws", 1) + "/ws"
		t.Setenv(EnvKey, "canary")
		t.Setenv(EnvHosts, strings.TrimPrefix(srv.URL, "http://"))
		_, err := Dial(t.Context(), address)
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "redirects are not followed") {
			t.Errorf("status %d: Dial = %v, want an invalid fault about redirects", status, err)
		}
		s, err := New(envadapters.Options{Servers: []string{address}})
		if err != nil {
			t.Fatal(err)
		}
		found := s.Servers(t.Context())
		if len(found) != 1 || found[0].State != envadapters.Dead || !strings.Contains(found[0].Detail, "redirects") {
			t.Errorf("status %d: Servers = %+v, want a dead one that redirects", status, found)
		}
		srv.Close()
	}
	if n := requests.Load(); n > 0 {
		t.Errorf("the service that they redirect to was asked %d times, want never", n)
	}
}
