package workers

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/observe/telemetry"
	"github.com/collabui/collabui/internal/policy/llm"
)

func TestCallsThatNobodyWaitsForHaveNotFailed(t *testing.T) {
	reached := make(chan struct{}, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // then the server notices when the caller has gone
		reached <- struct{}{}
		<-r.Context().Done()
	}))
	defer srv.Close()
	pool, err := llm.PolicyServers([]string{srv.URL + "/v1"}, llm.Config{Timeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	m := &meteredPolicies{pool, telemetry.New()}
	request := chat.Request{Model: "m", User: "u", N: 1}

	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-reached; cancel() }()
	if _, err := m.Complete(ctx, request); err == nil {
		t.Fatal("a call that was given up returned no error, want one")
	}
	if done, failed := counted(t, m.metrics); done != "1" || failed != "0" {
		t.Errorf("after a call that was given up: %s done and %s failed, want 1 and 0", done, failed)
	}
	if _, err := m.Complete(t.Context(), request); err == nil {
		t.Fatal("a call without an answer returned no error, want one")
	}
	if done, failed := counted(t, m.metrics); done != "2" || failed != "1" {
		t.Errorf("after a call without an answer: %s done and %s failed, want 2 and 1", done, failed)
	}
}

// counted returns how many calls of policy servers the metrics count, and how many that failed.
func counted(t *testing.T, m *telemetry.Metrics) (done, failed string) {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(answer.Body.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		switch name {
		case `collabui_work_seconds_count{kind="policy calls"`:
			done = value
		case `collabui_work_failures_total{kind="policy calls"`:
			failed = value
		}
	}

	return done, failed
}
