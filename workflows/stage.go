package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/domain"
)

// enter begins a stage when the run is not held: lists of workflows find the run by it. A run that somebody stops
// enters none.
func (r *runState) enter(ctx workflow.Context, stage string, epoch int) error {
	if err := workflow.Await(ctx, r.free); err != nil {
		return err
	}
	if r.stops() {
		return workflow.ErrCanceled
	}
	if r.status.Stage == stage && r.status.Epoch == epoch {
		return nil
	}
	r.status.Stage = stage
	r.status.Epoch = epoch
	r.describe(ctx)

	return workflow.UpsertTypedSearchAttributes(ctx,
		attrRun.ValueSet(r.in.Name), attrStage.ValueSet(r.listed()),
		attrEpoch.ValueSet(int64(epoch)), attrEnvironment.ValueSet(r.plan.Environment))
}

// free reports whether the run is not held, or is being stopped.
func (r *runState) free() bool { return !r.status.Held || r.stops() }

// act does what comes next in the context work, unless the run is held or stopped, and reports whether the run is over.
// A failure pauses the run with its reason. Early rollouts continue meanwhile, unless a person has to resume the run.
func (r *runState) act(ctx, work workflow.Context) (over bool, err error) {
	r.describe(ctx)
	if err := workflow.Await(ctx, r.free); err != nil {
		return false, err
	}
	if r.stops() {
		return false, r.stopped(ctx)
	}

	over, err = r.advance(work)
	r.progress = Progress{}
	switch {
	case over && err == nil:
		return true, nil
	case r.stops():
		return false, r.stopped(ctx)
	case ctx.Err() != nil || workflow.IsContinueAsNewError(err):
		return false, err
	case err == nil:
		r.rounds = 0
		r.opens = 0

		return false, nil
	}

	return false, r.awaitRepair(ctx, err)
}

// pauseLimit is how long a run that paused itself for a fault of infrastructure waits before it tries again.
const pauseLimit = 10 * time.Minute

// awaitRepair waits after a stage failed. If only a person can help, the run is held. A fault of infrastructure passes
// with time: the run reports what it waits for, and continues after a while, or when a person resumes it. A person's
// pause holds it beyond that.
func (r *runState) awaitRepair(ctx workflow.Context, failed error) error {
	r.rounds++
	if stillOpen(failed) && r.opens < openTries {
		r.opens++

		return workflow.Sleep(ctx, openPause)
	}
	if isHeld(failed) { // the plan says who holds it
		return workflow.Sleep(ctx, heldPause)
	}
	why, again := rootCause(failed)
	if r.status.Held {
		why = r.status.Reason + "; meanwhile " + why
	}
	if !again {
		r.pauses++
	}
	r.status.Held = r.status.Held || !again
	r.status.Paused = true
	r.status.Reason = why
	if why != r.notified { // not again and again while the same service is away
		r.notified = why
		r.notify(ctx, domain.NoticePaused, why)
	}
	r.mark(ctx)
	if r.status.Held {
		r.signal(ctx, signalPause, true)

		return nil
	}

	r.describe(ctx)
	over := func() bool { return !r.status.Paused || r.status.Held || r.stops() }
	if _, err := workflow.AwaitWithTimeout(ctx, pauseLimit, over); err != nil {
		return err
	}
	if !r.status.Held {
		r.status.Paused = false
		r.status.Reason = ""
		r.mark(ctx)
	}

	return nil
}

// rootCause returns the error of the activity that failed, and whether another try can help. What it wraps is only the
// chain of its error.
func rootCause(err error) (why string, again bool) {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Message(), !app.NonRetryable()
	}

	return err.Error(), true
}
