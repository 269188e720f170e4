package browser

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// TestThePageServerAnswersItsOwnPagesOnly matters because a person's browser, too, reaches every port of this machine.
func TestThePageServerAnswersItsOwnPagesOnly(t *testing.T) {
	server, base, err := Serve(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	address := strings.TrimPrefix(base, "http://")
	if at, err := netip.ParseAddrPort(address); err != nil || !at.Addr().IsLoopback() {
		t.Errorf("the pages are at %s, want a loopback address", base)
	}
	for _, c := range []struct {
		name, host string
		header     map[string]string
		want       int
	}{
		{"a program", address, nil, 200},
		{"a browser that is told the address", address, map[string]string{"Sec-Fetch-Site": "none"}, 200},
		{"its own page", address, map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": base}, 200},
		{"a rebound name", "evil.example", nil, 421},
		{"the loopback by another name", "localhost" + address[strings.LastIndex(address, ":"):], nil, 421},
		{"another site", address, map[string]string{"Origin": "http://evil.example"}, 403},
		{"another service of this machine", address, map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		{"a link of another site", address,
			map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403},
		{"a page without an origin", address, map[string]string{"Origin": "null"}, 403},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		for k, v := range c.header {
			r.Header.Set(k, v)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d", c.name, res.StatusCode, c.want)
		}
	}
}
