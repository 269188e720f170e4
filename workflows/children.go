package workflows

import (
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities/guard"
)

// childError returns what became of a child. If somebody cancelled or terminated it, and not the workflow that began
// it, the error reports that, and only a person can help.
func childError(ctx workflow.Context, err error) error {
	var failed *temporal.ChildWorkflowExecutionError
	if ctx.Err() != nil || !errors.As(err, &failed) {
		return err
	}
	var terminated *temporal.TerminatedError
	did := ""
	switch {
	case temporal.IsCanceledError(err):
		did = "cancelled"
	case errors.As(err, &terminated):
		did = "terminated"
	default:
		return err
	}
	why := fmt.Sprintf("somebody %s the workflow %s, a part of this one: what it has recorded is kept, and "+
		"`collabui resume` begins it again", did, failed.WorkflowID())

	return temporal.NewNonRetryableApplicationError(why, errInterrupted, nil)
}

// errInterrupted is the type of the error of a workflow whose child somebody cancelled or terminated.
const errInterrupted = "interrupted"

// A child of a workflow that was stopped ends a little later than that. Until then, nothing of its id can begin.
const (
	openPause = 5 * time.Second
	openTries = 24
)

// stillOpen reports whether a workflow could not begin, because one of its id is open.
func stillOpen(err error) bool {
	var app *temporal.ApplicationError
	passed := errors.As(err, &app) && app.Type() == "ChildWorkflowExecutionAlreadyStartedError" // by another workflow

	return passed || temporal.IsWorkflowExecutionAlreadyStartedError(err)
}

// trainRun runs a run as a child that outlives its parent. A run that is open already, begun by a parent that was ended
// or by a person, is waited for, as p waits. A stop of it is a stop of the child, too.
func trainRun(ctx workflow.Context, run string, waiting patience) error {
	cctx := workflow.WithChildOptions(guard.Drives(ctx, run), workflow.ChildWorkflowOptions{
		WorkflowID: run, StaticSummary: "training run " + run,
		ParentClosePolicy: enums.PARENT_CLOSE_POLICY_ABANDON,
	})
	for pause := pauseLimit; ; pause = min(2*pause, maxPause) {
		err := workflow.ExecuteChildWorkflow(cctx, Run, RunInput{Name: run}).Get(ctx, nil)
		if !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
			return childError(ctx, err)
		}
		waiting.waits("run " + run + " goes on already, and its end is waited for")
		if err := workflow.Sleep(ctx, pause); err != nil {
			return err
		}
		var why string
		asks := on(ctx, QueueControl, "was run "+run+" stopped?")
		if err := waiting.insist(ctx, func(ctx workflow.Context) error {
			return workflow.ExecuteActivity(asks, control.Stopped, run).Get(ctx, &why)
		}); err != nil {
			return err
		}
		if why != "" {
			return temporal.NewNonRetryableApplicationError(why, ErrStopped, nil)
		}
		if renews(ctx) {
			return waiting.renew()
		}
	}
}

// maxPause bounds the time between two looks at a run that is open: each costs a few events.
const maxPause = time.Hour

// patience is how a workflow that no person watches waits for infrastructure.
type patience struct {
	waits func(why string) // is called with the reason why something is tried again
	renew func() error     // returns the error by which the workflow continues as new
}

// maxRounds is the number of tries after which a workflow that waits for infrastructure continues as new: its history
// stays short however long that is away, and it may move to another build of the workers.
const maxRounds = 50

// insist repeats an action until it succeeds, or until it fails for a reason that only a person can remove.
func (p patience) insist(ctx workflow.Context, do func(workflow.Context) error) error {
	rounds := 0
	opens := 0
	for {
		err := do(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if stillOpen(err) && opens < openTries {
			opens++
			if err := workflow.Sleep(ctx, openPause); err != nil {
				return err
			}

			continue
		}
		why, again := rootCause(err)
		if !again {
			return err
		}
		p.waits(why)
		if err := workflow.Sleep(ctx, pauseLimit); err != nil {
			return err
		}
		if rounds++; rounds >= maxRounds || renews(ctx) {
			return p.renew()
		}
	}
}

// run executes a child workflow and keeps it known while it is open.
func (r *runState) run(ctx workflow.Context, fn, in, out any) error {
	id := workflow.GetChildWorkflowOptions(ctx).WorkflowID

	return r.wait(ctx, workflow.ExecuteChildWorkflow(ctx, fn, in), id, out)
}

// wait waits for a child workflow, which is known while it is open.
func (r *runState) wait(ctx workflow.Context, own workflow.ChildWorkflowFuture, id string, out any) error {
	r.child = own
	r.status.Child = id
	r.describe(ctx)
	defer func() {
		r.child = nil
		r.status.Child = ""
	}()

	return childError(ctx, own.Get(ctx, out))
}

// signal sends a signal to the open children. One that has just ended needs none.
func (r *runState) signal(ctx workflow.Context, name string, value any) {
	if r.child != nil {
		_ = r.child.SignalChildWorkflow(ctx, name, value).Get(ctx, nil)
	}
	for _, e := range r.early {
		_ = e.workflow.SignalChildWorkflow(ctx, name, value).Get(ctx, nil)
	}
}
