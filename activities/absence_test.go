package activities

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// TestAnObjectThatStaysAwayAsksAPerson plays an activity whose object is shown again after a while, or never.
func TestAnObjectThatStaysAwayAsksAPerson(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		tries int // before the object is shown
		other int // of these fail for another reason at first
		want  fault.Kind
	}{
		{"once", 1, 0, ""},
		{"for two minutes", 8, 0, ""},
		{"once, after an outage", 30, 29, ""},
		{"for good", 1000, 0, fault.Corrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, try := &store.Memory{}, 0
				base := runs.Run("x").Base()
				read := func(ctx context.Context) (runs.Base, error) {
					return Do(ctx, Log{}.For("x"), func(ctx context.Context, _ Progress) (runs.Base, error) {
						if try++; try > 1 {
							time.Sleep(UsualPause(int32(try - 1))) // the clock of workflows is another one
						}
						if try <= c.other {
							return runs.Base{}, fault.New(fault.Transient, "connection refused")
						}
						if try > c.tries {
							_, _, _, err := base.Write(ctx, b, runs.Base{})
							if err != nil {
								return runs.Base{}, err
							}
						}
						v, _, err := base.Must(ctx, b)

						return v, err
					})
				}
				var suite testsuite.WorkflowTestSuite
				suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
				env := suite.NewTestWorkflowEnvironment()
				env.SetTestTimeout(24 * time.Hour)
				env.RegisterActivity(read)
				env.ExecuteWorkflow(func(ctx workflow.Context) error {
					ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
						StartToCloseTimeout: time.Hour, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: MaxTries},
					})

					return workflow.ExecuteActivity(ctx, read).Get(ctx, nil)
				})
				err := env.GetWorkflowError()
				var app *temporal.ApplicationError
				if c.want == "" {
					if err != nil {
						t.Errorf("the activity ended with %v after %d tries, want its object", err, try)
					}
				} else if !errors.As(err, &app) || app.Type() != string(c.want) || !app.NonRetryable() {
					t.Errorf("the activity ended with %v after %d tries, want a person to be asked", err, try)
				} else if text := app.Message(); !strings.Contains(text, base.Key) ||
					!strings.Contains(text, "collabui fsck") || !strings.Contains(text, "versions") {
					t.Errorf("the person is asked by %q, want the key and advice", text)
				}
			})
		})
	}
}

func TestWhatAPersonDeletedIsNoAbsence(t *testing.T) {
	t.Parallel()
	gone := fmt.Errorf("%w: %w", runs.Run("x").Gone(runs.Decision{Who: "ann"}), store.ErrNotFound)
	if err := waitForAbsent(t.Context(), time.Now().Add(-time.Hour), gone); fault.KindOf(err) != fault.Invalid {
		t.Errorf("waitForAbsent(%v) = %v, want an invalid fault", gone, err)
	}
}
