package httpd

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestALockedServerAsksForItsKey(t *testing.T) {
	pages := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for _, c := range []struct {
		key, given string
		want       int
	}{
		{"", "", http.StatusOK}, {"secret", "", http.StatusUnauthorized}, {"secret", "other", http.StatusUnauthorized},
		{"secret", "secret", http.StatusOK},
		{"next\nsecret", "secret", http.StatusOK}, {"next\nsecret", "next", http.StatusOK},
	} {
		r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
		if c.given != "" {
			r.SetBasicAuth("anybody", c.given)
		}
		if Locked(pages, func() string { return c.key }).ServeHTTP(w, r); w.Code != c.want {
			t.Errorf("with the key %q and %q given: status %d, want %d", c.key, c.given, w.Code, c.want)
		}
	}
}
