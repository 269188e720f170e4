package httpd

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestALoopbackServerAnswersNoForeignPage covers pages that a person opens. They can send requests to this machine:
// under their own name, which then resolves to the loopback (rebinding), or across sites.
func TestALoopbackServerAnswersNoForeignPage(t *testing.T) {
	answers := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for _, c := range []struct {
		name, method, host string // a path may follow the host
		header             map[string]string
		want               int
	}{
		{"a program", "POST", "127.0.0.1:8080", nil, 204},
		{"a program by name", "POST", "localhost:8080", nil, 204},
		{"a program by another name", "GET", "LOCALHOST", nil, 204},
		{"IPv6", "GET", "[::1]:8080", nil, 204},
		{"its own page", "POST", "127.0.0.1:8080", map[string]string{"Origin": "http://127.0.0.1:8080"}, 204},
		{"its own page, by the browser", "POST", "localhost:8080",
			map[string]string{"Sec-Fetch-Site": "same-origin"}, 204},
		{"rebinding", "GET", "evil.example:8080", nil, 421},
		{"rebinding with its own origin", "POST", "evil.example:8080",
			map[string]string{"Origin": "http://evil.example:8080"}, 421},
		{"a name that begins like the loopback", "GET", "127.0.0.1.evil.example", nil, 421},
		{"a name that ends like it", "GET", "evil.localhost.example", nil, 421},
		{"another machine's address", "GET", "10.0.0.1:8080", nil, 421},
		{"no host", "GET", "", nil, 421},
		{"across sites", "POST", "127.0.0.1:8080", map[string]string{"Origin": "http://evil.example"}, 403},
		{"across sites, by the browser", "POST", "127.0.0.1:8080",
			map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"across sites without an origin", "DELETE", "127.0.0.1:8080", map[string]string{"Origin": "null"}, 403},
		{"reading across sites", "GET", "127.0.0.1:8080",
			map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"a WebSocket across sites", "GET", "127.0.0.1:8080",
			map[string]string{"Origin": "http://evil.example", "Upgrade": "websocket"}, 403},
		{"an address that a person types", "GET", "127.0.0.1:8080/a/b", follows("none", "document"), 204},
		{"a link of its own page", "GET", "127.0.0.1:8080/a", follows("same-origin", "document"), 204},
		{"a frame of its own page", "GET", "127.0.0.1:8080/a", follows("same-origin", "iframe"), 204},
		{"a link that a person follows", "GET", "127.0.0.1:8080", follows("cross-site", "document"), 204},
		{"a link to another page", "GET", "127.0.0.1:8080/a", follows("cross-site", "document"), 403},
		{"a form across sites", "POST", "127.0.0.1:8080", follows("cross-site", "document"), 403},
		{"a link of another service of this machine", "GET", "127.0.0.1:8080", follows("same-site", "document"), 403},
		{"a form of another service", "POST", "127.0.0.1:8080", follows("same-site", "document"), 403},
		{"a frame across sites", "GET", "127.0.0.1:8080", follows("cross-site", "iframe"), 403},
		{"a frame of another service", "GET", "127.0.0.1:8080", follows("same-site", "frame"), 403},
		{"an object across sites", "GET", "127.0.0.1:8080", follows("cross-site", "object"), 403},
		{"a link without a destination", "GET", "127.0.0.1:8080", follows("cross-site", ""), 403},
		{"a link of a page that may", "GET", "127.0.0.1:8080/a",
			with(follows("same-site", "document"), "Referer", "http://127.0.0.1:9/x"), 204},
		{"a frame of a page that may link", "GET", "127.0.0.1:8080",
			with(follows("same-site", "iframe"), "Referer", "http://127.0.0.1:9/x"), 403},
		{"a link of a page beside it", "GET", "127.0.0.1:8080",
			with(follows("same-site", "document"), "Referer", "http://127.0.0.1:99/x"), 403},
		{"a form of a page that may link", "POST", "127.0.0.1:8080",
			with(follows("same-site", "document"), "Referer", "http://127.0.0.1:9/x"), 403},
	} {
		host, path, _ := strings.Cut(c.host, "/")
		r := httptest.NewRequestWithContext(t.Context(), c.method, "/"+path, nil)
		r.Host = host
		for k, v := range c.header {
			r.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		Guard(answers, "", "http://127.0.0.1:9").ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: status %d, want %d", c.name, w.Code, c.want)
		}
	}
}

// follows returns the headers of a browser that opens an address, for a page of a site, in a tab or a frame.
func follows(site, in string) map[string]string {
	return map[string]string{"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": in}
}

func with(h map[string]string, name, value string) map[string]string {
	h[name] = value

	return h
}
