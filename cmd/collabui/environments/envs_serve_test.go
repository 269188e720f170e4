package environments

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestServersOfEnvironmentsAskForTheirKey(t *testing.T) {
	answers := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for _, c := range []struct {
		key, path, header string
		want              int
	}{
		{"", "/ws", "", 204},
		{"k", "/ws", "", 401},
		{"k", "/ws", "Bearer x", 401},
		{"k", "/ws", "Bearer k", 204},
		{"k", "/schema", "", 401},
		{"k", "/health", "", 204},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, nil)
		r.Header.Set("Authorization", c.header)
		w := httptest.NewRecorder()
		requireKey(answers, func() string { return c.key }).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("GET %s with %q at a server with key %q: %d, want %d", c.path, c.header, c.key, w.Code, c.want)
		}
	}
}
