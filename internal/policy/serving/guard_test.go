package serving

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A page that a person opens can send requests to this machine: under its own name, which then resolves to the
// loopback (rebinding), or across sites.
func TestALoopbackServerAnswersNoForeignPage(t *testing.T) {
	answers := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for _, c := range []struct {
		name, method, host string
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
		{"a link that a person follows", "GET", "127.0.0.1:8080",
			map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 204},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, "/", nil)
		r.Host = c.host
		for k, v := range c.header {
			r.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		Guard(answers).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: status %d, want %d", c.name, w.Code, c.want)
		}
	}
}
