package httpd

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestPathsThatClientsChooseCostBoundedMemory(t *testing.T) {
	m := NewMetrics("test")
	for i := range 1000 {
		m.Count(fmt.Sprintf("/random/%d", i), http.StatusNotFound)
	}
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body := rec.Body.String()
	if n := strings.Count(body, "test_requests_total{"); n != maxPaths+1 {
		t.Errorf("1,000 paths have %d counters, want %d", n, maxPaths+1)
	}
	want := fmt.Sprintf(`test_requests_total{path="other",status="404"} %d`, 1000-maxPaths)
	if !strings.Contains(body, want) {
		t.Errorf("got\n%s\nwant %s", body, want)
	}
}

func TestRequestsBeyondTheBoundAreToldToComeBack(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	h := bounded(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		begun <- struct{}{}
		<-end
		w.WriteHeader(http.StatusTeapot)
	}), 1)
	first := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.ServeHTTP(first, httptest.NewRequest(http.MethodGet, "/", nil))
	}()
	<-begun
	second := httptest.NewRecorder()
	h.ServeHTTP(second, httptest.NewRequest(http.MethodGet, "/", nil))
	if second.Code != http.StatusServiceUnavailable || second.Header().Get("Retry-After") == "" {
		t.Errorf("got status %d with Retry-After %q, want 503 and a time",
			second.Code, second.Header().Get("Retry-After"))
	}
	close(end)
	<-done
	if first.Code != http.StatusTeapot {
		t.Errorf("got status %d for the first request, want 418", first.Code)
	}
}
