package telemetry_test

import (
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/observe/telemetry"
	"github.com/collabui/collabui/internal/store"
)

// text returns the response of /metrics.
func text(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	s := httptest.NewServer(m.Handler())
	defer s.Close()
	r, err := s.Client().Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}

	return string(body)
}

func TestWhatAProcessDoesIsCounted(t *testing.T) {
	m := telemetry.New()
	m.Begin("Rollout")(nil)
	m.Begin("Rollout")(errors.New("broken"))
	m.Begin("Update")
	m.Places(6)
	m.LimitFailed()
	m.Take("webtasks")
	m.Take("webtasks")()
	m.Parts()("decide")
	m.Call("critic", time.Second, domain.Usage{Prompt: 10, Cached: 4, Answer: 2}, 0.5)
	m.Training("runs/a/epochs/0001/agents/0/job", domain.TrainPoint{Step: 3, Steps: 12})
	for _, e := range []events.Event{
		events.Episode{Success: true}, events.Void{}, events.Labels{Right: 3, Wrong: 2, Pairs: 5},
		events.Update{Kept: "too far"}, events.Warning{},
		events.Gap{Agent: 1, Of: events.GapServed, Mean: 0.5, Limit: 0.1},
		events.Gap{Agent: 1, Of: events.GapPlayed, Mean: 0.05, Limit: 0.1},
		events.Epoch{Epoch: 2, Rollouts: 0.5, Pairs: 7, Val: 0.4, Positive: 0.3, Failed: 1, Quarantined: 2},
	} {
		m.Event("a", e)
	}

	got := text(t, m)
	for _, want := range []string{
		`collabui_work_seconds_count{kind="Rollout"} 2`, `collabui_work_failures_total{kind="Rollout"} 1`,
		`collabui_work_running{kind="Update"} 1`, `collabui_step_seconds_count{part="decide"} 1`,
		`collabui_model_seconds_sum{role="critic"} 1`, `collabui_tokens_total{kind="prompt",role="critic"} 10`,
		`collabui_cost_total{role="critic"} 0.5`,
		`collabui_training_progress{update="runs/a/epochs/0001/agents/0/job"} 0.25`,
		`collabui_episodes_total{outcome="success"} 1`, `collabui_episodes_total{outcome="void"} 1`,
		`collabui_labels_total{label="right"} 3`, `collabui_pairs_total 5`,
		`collabui_updates_total{outcome="kept the parent"} 1`, `collabui_warnings_total 1`,
		`collabui_limit_failures_total 1`,
		`collabui_train_serve_gap{agent="1",of="served",run="a"} 0.5`,
		`collabui_train_serve_gap{agent="1",of="played",run="a"} 0.05`,
		`collabui_train_serve_gaps_wide_total{of="served"} 1`, `collabui_train_serve_gaps_wide_total{of="played"} 0`,
		`collabui_run_epoch{figure="val",run="a"} 0.4`, `collabui_run_epoch{figure="positive",run="a"} 0.3`,
		`collabui_run_epoch{figure="failed",run="a"} 1`, `collabui_run_epoch{figure="quarantined",run="a"} 2`,
		`collabui_places 6`, `collabui_places_taken{environment="webtasks"} 1`,
		"go_goroutines", "process_cpu_seconds_total",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("/metrics says\n%s\nwant it to contain %q", got, want)
		}
	}

	for _, label := range []string{`job="`, `instance="`} { // Prometheus writes its own over them
		if strings.Contains(got, "{"+label) || strings.Contains(got, ","+label) {
			t.Errorf("/metrics says\n%s\nwant no label %s", got, label)
		}
	}

	m.Trained("runs/a/epochs/0001/agents/0/job")
	m.Event("a", events.End{})
	if got := text(t, m); strings.Contains(got, `run="a"`) || strings.Contains(got, "training_progress{") {
		t.Errorf("/metrics says\n%s\nwant nothing of what has ended", got)
	}
}

func TestAnActivityMayCountNothing(t *testing.T) {
	var m *telemetry.Metrics
	m.Parts()("decide")
	m.Training("job", domain.TrainPoint{Step: 1, Steps: 2})
	m.Trained("job")
}

func TestCallsOfTheStoreAreCounted(t *testing.T) {
	m, began := telemetry.New(), time.Now()
	for operation, errs := range map[string][]error{
		"put": {nil}, "get": {nil, fmt.Errorf("b: %w", store.ErrNotFound)}, "list": {nil},
	} {
		for _, err := range errs {
			m.Store(t.Context(), operation, began, err)
		}
	}

	got := text(t, m)
	for operation, n := range map[string]string{"put": "1", "get": "2", "list": "1"} {
		if want := `collabui_store_seconds_count{operation="` + operation + `"} ` + n; !strings.Contains(got, want) {
			t.Errorf("/metrics says\n%s\nwant it to contain %q", got, want)
		}
	}
	if want := `collabui_store_errors_total{kind="transient",operation="get"} 0`; !strings.Contains(got, want) {
		t.Errorf("/metrics says\n%s\nwant %s: a missing object is an answer", got, want)
	}
}
