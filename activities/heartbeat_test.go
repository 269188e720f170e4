package activities

import (
	"context"
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
)

// works runs a body as an activity, with a clock that only waiting moves. It returns how often the activity beat, after
// what time it ended, and its error.
func works(
	t *testing.T, body func(ctx context.Context, say say) (int, error),
) (beats int, took time.Duration, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var suite testsuite.WorkflowTestSuite
		suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
		env := suite.NewTestWorkflowEnvironment()
		env.SetTestTimeout(24 * time.Hour)
		env.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) { beats++ })
		a := func(ctx context.Context) (int, error) { return do(ctx, slog.New(slog.DiscardHandler), body) }
		env.RegisterActivityWithOptions(a, activity.RegisterOptions{Name: "a"})
		once := workflow.ActivityOptions{
			StartToCloseTimeout: 24 * time.Hour, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
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
	_, took, err := works(t, func(ctx context.Context, say say) (int, error) {
		<-ctx.Done()

		return 0, context.Cause(ctx)
	})
	if err == nil || !strings.Contains(err.Error(), "no progress for 1h40m") {
		t.Errorf("the activity ended with %v, want the reason that it made no progress", err)
	}
	if took < maxSilence || took > maxSilence+time.Minute {
		t.Errorf("the activity was given up after %v, want %v", took, maxSilence)
	}
}

func TestAnActivityThatMakesProgressMayTakeLong(t *testing.T) {
	beats, _, err := works(t, func(_ context.Context, say say) (int, error) {
		for range 3 {
			time.Sleep(time.Hour)
			say("a step")
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
