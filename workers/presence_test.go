package workers

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/process/telemetry"
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
	m := &meteredPolicies{pool, newMeter(telemetry.New())}
	request := chat.Request{Model: "m", User: "u", N: 1}

	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-reached; cancel() }()
	if _, err := m.Complete(ctx, request); err == nil {
		t.Fatal("a call that was given up returned no error, want one")
	}
	if got := m.meter.parts()[policyCalls]; got.Done != 1 || got.Failed != 0 {
		t.Errorf("after a call that was given up: %+v, want 1 done and none failed", got)
	}
	if _, err := m.Complete(t.Context(), request); err == nil {
		t.Fatal("a call without an answer returned no error, want one")
	}
	if got := m.meter.parts()[policyCalls]; got.Done != 2 || got.Failed != 1 {
		t.Errorf("after a call without an answer: %+v, want 2 done and 1 failed", got)
	}
}
