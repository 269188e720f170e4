package workflows_test

import (
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workflows"
)

func TestALineWithoutAnAcceptedSystemIsNotTrained(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	if _, err := schedules.Append(t.Context(), r.Bucket, schedules.Version{Schedule: nightly()}); err != nil {
		t.Fatal(err)
	}
	if _, err := fire(t, r, 3, nil); err == nil || !strings.Contains(err.Error(), "collabui line promote mobile RUN") {
		t.Errorf("the firing ended with %v, want an error that says what to do", err)
	}
	all, err := schedules.Schedule("nightly").Outcomes(t.Context(), r.Bucket)
	if err != nil || len(all) != 1 || all[0].Verb != schedules.VerbFailed {
		t.Errorf("the outcomes are %+v, %v; want one that failed", all, err)
	}
}

func TestNothingIsTrainedThatNoGateCouldCompare(t *testing.T) {
	t.Parallel()
	r := scheduled(t, nightly())
	r.Suite.Trained = []string{"h", "i"}
	c := count(r)
	_, err := fire(t, r, 3, nil)
	const want = "none of the new training templates (h, i) in test-seeds or val"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the firing ended with %v, want an error with %q", err, want)
	}
	if c.calls > 0 || c.jobs > 0 {
		t.Errorf("it made %d calls and %d jobs, want none", c.calls, c.jobs)
	}

	r.Suite.More, r.Suite.Trained = r.Suite.Trained, nil // as the error says
	learns(t, r)
	o, err := fire(t, r, 4, nil)
	wantOutcome(t, o, err, lines.Promote, schedules.NewsTasks, "points on 20 episodes of new tasks")
}

// beside fires a schedule whose run has a workflow for two hours already, as one has that an earlier workflow of the
// firing began before it was terminated. It returns how the firing ended, and how long it took.
func beside(t *testing.T, r *testrun.Run) (schedules.Outcome, time.Duration, error) {
	t.Helper()
	as := func(ctx workflow.Context, id string) workflow.Context {
		return workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
			WorkflowID: id, TaskQueue: workflows.QueueControl,
		})
	}
	sleeper := func(ctx workflow.Context) error { return workflow.Sleep(ctx, 2*time.Hour) }
	both := func(ctx workflow.Context) (o schedules.Outcome, err error) {
		other := workflow.ExecuteChildWorkflow(as(ctx, "nightly-20261123-030000"), sleeper)
		if err := other.GetChildWorkflowExecution().Get(ctx, nil); err != nil {
			return o, err
		}
		id := workflows.RetrainID("nightly") + "-2026-11-23T03:00:00Z"
		in := workflows.RetrainInput{Schedule: "nightly", Version: 1}

		return o, workflow.ExecuteChildWorkflow(as(ctx, id), workflows.Retrain, in).Get(ctx, &o)
	}
	env := r.Environment()
	env.RegisterWorkflow(sleeper)
	began := env.Now()
	env.ExecuteWorkflow(both)

	var o schedules.Outcome
	err := env.GetWorkflowError()
	if err == nil {
		err = env.GetWorkflowResult(&o)
	}

	return o, env.Now().Sub(began), err
}

func TestARunThatGoesOnAlreadyIsWaitedFor(t *testing.T) {
	t.Parallel()
	r := scheduled(t, nightly())
	r.Suite.More = []string{"h"}
	learns(t, r)
	o, took, err := beside(t, r)
	wantOutcome(t, o, err, lines.Promote, schedules.NewsTasks, "points on 20 episodes of new tasks")
	if took < 2*time.Hour {
		t.Errorf("the firing ended after %v, want it to wait for the end of the run's workflow", took)
	}
	wantNotices(t, r, domain.NoticePaused, domain.NoticeEnded, domain.NoticePromoted)
}

// TestAStopOfARunThatGoesOnAlreadyIsHeeded stops the run while the firing waits for it.
func TestAStopOfARunThatGoesOnAlreadyIsHeeded(t *testing.T) {
	t.Parallel()
	r := scheduled(t, nightly())
	r.Suite.More = []string{"h"}
	run := runs.Run("nightly-20261123-030000")
	stop := runs.Change{Who: "ann", Why: "it costs too much", Verb: runs.VerbStop}
	if _, err := run.Append(t.Context(), r.Bucket, stop); err != nil {
		t.Fatal(err)
	}
	c := count(r)
	o, _, err := beside(t, r)
	wantOutcome(t, o, err, schedules.VerbNone, schedules.NewsTasks, "ann stopped it: it costs too much")
	if c.jobs > 0 || c.calls > 0 {
		t.Errorf("it made %d jobs and %d calls, want none of a run that was stopped", c.jobs, c.calls)
	}
}
