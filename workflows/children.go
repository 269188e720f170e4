package workflows

import (
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
)

// trainRun runs a run as a child that outlives its parent. A run that goes on already, begun by a parent that was ended
// or by a person, is waited for. waits is told so. A stop of it is a stop of the child, too.
func trainRun(ctx workflow.Context, run string, waits func(why string)) error {
	cctx := workflow.WithChildOptions(activities.Drives(ctx, run), workflow.ChildWorkflowOptions{
		WorkflowID: run, StaticSummary: "training run " + run,
		ParentClosePolicy: enums.PARENT_CLOSE_POLICY_ABANDON,
	})
	for pause := pauseLimit; ; pause = min(2*pause, maxPause) {
		err := workflow.ExecuteChildWorkflow(cctx, Run, RunInput{Name: run}).Get(ctx, nil)
		if !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
			return err
		}
		waits("run " + run + " goes on already, and its end is waited for")
		if err := workflow.Sleep(ctx, pause); err != nil {
			return err
		}
		var why string
		asks := on(ctx, QueueControl, "was run "+run+" stopped?")
		if err := insist(ctx, func(ctx workflow.Context) error {
			return workflow.ExecuteActivity(asks, control.Stopped, run).Get(ctx, &why)
		}, waits); err != nil {
			return err
		}
		if why != "" {
			return temporal.NewNonRetryableApplicationError(why, ErrStopped, nil)
		}
	}
}

// maxPause bounds the time between two looks at a run that goes on: each costs a few events.
const maxPause = time.Hour

// run executes a child workflow and keeps it known while it is open.
func (r *runState) run(ctx workflow.Context, fn, in, out any) error {
	id := workflow.GetChildWorkflowOptions(ctx).WorkflowID

	return r.wait(ctx, workflow.ExecuteChildWorkflow(ctx, fn, in), id, out)
}

// wait waits for a child workflow, which is known while it is open.
func (r *runState) wait(ctx workflow.Context, own workflow.ChildWorkflowFuture, id string, out any) error {
	r.child, r.status.Child = own, id
	r.describe(ctx)
	defer func() { r.status.Child = "" }()

	return own.Get(ctx, out)
}

// signal sends a signal to the open children. One that has just ended needs none.
func (r *runState) signal(ctx workflow.Context, name string, value any) {
	if r.child != nil {
		_ = r.child.SignalChildWorkflow(ctx, name, value).Get(ctx, nil)
	}
	for _, e := range r.early {
		_ = e.child.SignalChildWorkflow(ctx, name, value).Get(ctx, nil)
	}
}
