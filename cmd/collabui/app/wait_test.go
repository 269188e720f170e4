package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"github.com/collabui/collabui/workflows"
)

// answers is a workflow whose server gives other answers before the last.
type answers []error

func (s *answers) GetID() string { return "x" }

func (s *answers) Get(context.Context, any) error {
	err := (*s)[0]
	if len(*s) > 1 {
		*s = (*s)[1:]
	}

	return err
}

func TestWaitingOutlastsATemporalThatGivesNoAnswer(t *testing.T) {
	failed := &temporal.WorkflowExecutionError{}
	none := serviceerror.NewNotFound("gone")
	for _, c := range []struct {
		name    string
		answers answers
		want    error
	}{
		{"it ends after the machine has slept", answers{context.DeadlineExceeded, nil}, nil},
		{"it fails after a restart", answers{serviceerror.NewUnavailable("down"), failed}, failed},
		{"there is no such workflow", answers{none, nil}, none},
		{"Temporal is gone", answers{context.DeadlineExceeded}, context.DeadlineExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if err := Wait(t.Context(), &c.answers); !errors.Is(err, c.want) {
					t.Errorf("wait() = %v, want %v", err, c.want)
				}
			})
		})
	}
}

func TestHowAWorkflowEndedIsAnExitCode(t *testing.T) {
	stopped := temporal.NewNonRetryableApplicationError("ann stopped it", workflows.ErrStopped, nil)
	for _, c := range []struct {
		err  error
		want int
	}{
		{stopped, exitStopped},
		{&temporal.WorkflowExecutionError{}, exitFatal},
		{errors.New("no answer"), ExitService},
	} {
		if got := ExitCode(EndError(c.err)); got != c.want {
			t.Errorf("the exit code after %v is %d, want %d", c.err, got, c.want)
		}
	}
	if err := EndError(nil); err != nil {
		t.Errorf("endedWith(nil) = %v, want nil", err)
	}
}
