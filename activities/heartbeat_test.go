package activities

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/internal/policy/endpoints"
)

// works runs a body as an activity of a task queue, with a clock that only waiting moves. It returns how often the
// activity beat, after what time it ended, and its error.
func works(
	t *testing.T, queue string, body func(ctx context.Context, progress Progress) (int, error),
) (beats int, took time.Duration, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var suite testsuite.WorkflowTestSuite
		suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
		env := suite.NewTestWorkflowEnvironment()
		env.SetTestTimeout(24 * time.Hour)
		env.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) { beats++ })
		a := func(ctx context.Context) (int, error) { return Do(ctx, slog.New(slog.DiscardHandler), body) }
		env.RegisterActivityWithOptions(a, activity.RegisterOptions{Name: "a"})
		once := workflow.ActivityOptions{
			TaskQueue: queue, StartToCloseTimeout: 24 * time.Hour,
			RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
		}
		began := time.Now()
		env.ExecuteWorkflow(func(ctx workflow.Context) error {
			return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, once), "a").Get(ctx, nil)
		})
		err = env.GetWorkflowError()
		took = time.Since(began)
	})

	return beats, took, err
}

func TestAnActivityThatMakesNoProgressIsGivenUp(t *testing.T) {
	for queue, most := range map[string]time.Duration{
		QueueControl: 5 * time.Minute, QueueCare: 5 * time.Minute, QueueRollout: 15 * time.Minute,
		QueueModel: 15 * time.Minute, QueueGPU: 100 * time.Minute,
	} {
		_, took, err := works(t, queue, func(ctx context.Context, progress Progress) (int, error) {
			<-ctx.Done()

			return 0, context.Cause(ctx)
		})
		if want := fmt.Sprintf("no progress for %v", most); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the activity ended with %v, want the reason %q", queue, err, want)
		}
		if took < most || took > most+time.Minute {
			t.Errorf("%s: the activity was given up after %v, want %v", queue, took, most)
		}
	}
}

// TestAnActivityThatSaysWhatItWaitsForIsNotGivenUp lets an activity wait for what has a limit of its own.
func TestAnActivityThatSaysWhatItWaitsForIsNotGivenUp(t *testing.T) {
	_, _, err := works(t, QueueRollout, func(ctx context.Context, _ Progress) (int, error) {
		defer endpoints.While(ctx, "waits for an environment")()
		select {
		case <-time.After(90 * time.Minute):
			return 0, nil
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	})
	if err != nil {
		t.Errorf("the activity ended with %v, want no error", err)
	}
}

func TestAnActivityThatMakesProgressMayTakeLong(t *testing.T) {
	beats, _, err := works(t, QueueGPU, func(_ context.Context, progress Progress) (int, error) {
		for range 3 {
			time.Sleep(time.Hour)
			progress("a step")
		}

		return 0, nil
	})
	if err != nil {
		t.Errorf("the activity ended with %v, want no error", err)
	}
	if beats == 0 {
		t.Error("the activity never beat, want heartbeats")
	}
}
