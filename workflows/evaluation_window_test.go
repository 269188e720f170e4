package workflows_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/activities/evaluate"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/workflows"
)

// TestALargeEvaluationOpensNoMoreThanTemporalTakes: a workflow that has 2,000 activities open fails to begin another.
func TestALargeEvaluationOpensNoMoreThanTemporalTakes(t *testing.T) {
	t.Parallel()
	const most, each = 1000, 6000
	const batches = 2 * each / evaluate.BatchSize
	var ts testsuite.WorkflowTestSuite
	ts.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := ts.NewTestWorkflowEnvironment()
	env.SetTestTimeout(5 * time.Minute)

	var mu sync.Mutex
	begun, open, highest := 0, 0, 0
	enough := make(chan struct{}) // closed when as many are open as may be
	playBatch := func(context.Context, evaluate.Range) (evaluate.Part, error) {
		mu.Lock()
		begun, open = begun+1, open+1
		highest = max(highest, open)
		if begun == most {
			time.AfterFunc(time.Second, func() { close(enough) }) // more would begin meanwhile
		}
		mu.Unlock()
		<-enough
		mu.Lock()
		open--
		mu.Unlock()

		return evaluate.Part{Successes: 1}, nil
	}
	conclude := func(_ context.Context, e evaluate.Evaluated) (runs.Result, error) {
		return runs.Result{Episodes: e.Part.Successes}, nil
	}
	env.RegisterActivityWithOptions(playBatch, activity.RegisterOptions{Name: "Evaluate"})
	env.RegisterActivityWithOptions(conclude, activity.RegisterOptions{Name: "Conclude"})
	item := rules.EvalItem{Run: "r", Episodes: each}
	env.ExecuteWorkflow(workflows.Evaluation, []rules.EvalItem{item, item})

	var got []runs.Result
	if err := env.GetWorkflowResult(&got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Episodes+got[1].Episodes != batches || begun != batches {
		t.Errorf("%d batches were played, with the results %+v; want %d", begun, got, batches)
	}
	if highest != most {
		t.Errorf("%d batches were open at once, want %d", highest, most)
	}
}
