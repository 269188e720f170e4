package workflows

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Command is the argument of updates: who asks, and why.
type Command struct {
	Who string
	Why string
}

// Names of queries, updates and signals.
const (
	QueryStatus   = "status"
	QueryProgress = "progress"
	UpdatePause   = "pause"
	UpdateResume  = "resume"
	UpdateStop    = "stop"
	signalPause   = "pause"
)

// NotPaused is the reason for which resume is refused.
const NotPaused = "the run is not paused"

// setup registers the query and the updates of a run.
func (r *runState) setup(ctx workflow.Context) error {
	status := func() (Status, error) { return r.status, nil }
	if err := workflow.SetQueryHandler(ctx, QueryStatus, status); err != nil {
		return err
	}

	return errors.Join(
		r.update(ctx, UpdatePause, func() error {
			if r.status.Held {
				return fmt.Errorf("the run is paused already: %s", r.status.Reason)
			}

			return nil
		}, func(ctx workflow.Context, c Command) { r.pause(ctx, true, c.Who+": "+c.Why) }),

		r.update(ctx, UpdateResume, func() error {
			if !r.status.Paused {
				return errors.New(NotPaused)
			}

			return nil
		}, func(ctx workflow.Context, _ Command) { r.pause(ctx, false, "") }),

		r.update(ctx, UpdateStop, func() error { return nil }, func(_ workflow.Context, c Command) {
			r.status.Stopping = true
			r.status.Reason = "stopped by " + c.Who + ": " + c.Why
			if r.cancel != nil {
				r.cancel() // every stage can resume, so a stop need not wait
			}
		}),
	)
}

// update registers an update that is valid only if it says who asks.
func (r *runState) update(
	ctx workflow.Context, name string, valid func() error, do func(workflow.Context, Command),
) error {
	handle := func(ctx workflow.Context, c Command) (Status, error) {
		do(ctx, c)

		return r.status, nil
	}
	validate := func(c Command) error {
		if strings.TrimSpace(c.Who) == "" {
			return errors.New("say who asks")
		}

		return valid()
	}

	return workflow.SetUpdateHandlerWithOptions(ctx, name, handle, workflow.UpdateHandlerOptions{Validator: validate})
}

// pause holds the run for a person, or lets it continue.
func (r *runState) pause(ctx workflow.Context, on bool, why string) {
	r.status.Held, r.status.Paused, r.status.Reason = on, on, why
	if r.child != nil {
		// A child that has just ended needs no signal.
		_ = r.child.SignalChildWorkflow(ctx, signalPause, on).Get(ctx, nil)
	}
	r.describe(ctx)
}

// describe writes the state of the run into the details that the Temporal UI shows.
func (r *runState) describe(ctx workflow.Context) {
	text := fmt.Sprintf("**%s** epoch %d of %d", r.status.Stage, r.status.Epoch, r.status.Epochs)
	if r.status.Paused {
		text += " — paused: " + r.status.Reason
	}
	workflow.SetCurrentDetails(ctx, text)
}

// ErrStopped is the type of the error with which a stopped run ends.
const ErrStopped = "stopped"

func stopped(why string) error { return temporal.NewNonRetryableApplicationError(why, ErrStopped, nil) }

// stage runs one stage. A failure pauses the run with its reason; after a resume the stage continues from what is
// recorded.
func (r *runState) stage(ctx workflow.Context, name string, epoch int, do func(workflow.Context) error) error {
	r.status.Stage, r.status.Epoch = name, epoch
	if err := workflow.UpsertTypedSearchAttributes(ctx,
		attrRun.ValueSet(r.in.Name), attrStage.ValueSet(name),
		attrEpoch.ValueSet(int64(epoch)), attrEnvironment.ValueSet(r.plan.Environment)); err != nil {
		return err
	}

	return r.act(ctx, do)
}

// act repeats an action until it succeeds, unless the run is held or stopped.
func (r *runState) act(ctx workflow.Context, do func(workflow.Context) error) error {
	for {
		r.describe(ctx)
		if err := workflow.Await(ctx, func() bool { return !r.status.Held || r.status.Stopping }); err != nil {
			return err
		}
		if r.status.Stopping {
			return stopped(r.status.Reason)
		}

		stage, cancel := workflow.WithCancel(ctx)
		r.cancel = cancel
		err := do(stage)
		r.child, r.cancel = nil, nil
		if r.status.Stopping {
			return stopped(r.status.Reason)
		}
		if err == nil || temporal.IsCanceledError(err) {
			return err
		}
		if err := r.wait(ctx, err); err != nil {
			return err
		}
	}
}

// pauseLimit is how long a run that paused itself for a fault of infrastructure waits before it tries again.
const pauseLimit = 10 * time.Minute

// wait is called when a stage failed. If only a person can help, the run is held. A fault of infrastructure passes with
// time: the run says what it waits for, and continues after a while, or when a person says resume. A person's pause
// holds it beyond that.
func (r *runState) wait(ctx workflow.Context, failed error) error {
	why, again := rootCause(failed)
	if r.status.Held {
		why = r.status.Reason + "; meanwhile " + why
	}
	r.status.Held, r.status.Paused, r.status.Reason = r.status.Held || !again, true, why
	if r.status.Held {
		return nil
	}

	r.describe(ctx)
	over := func() bool { return !r.status.Paused || r.status.Held || r.status.Stopping }
	if _, err := workflow.AwaitWithTimeout(ctx, pauseLimit, over); err != nil {
		return err
	}
	if !r.status.Held {
		r.status.Paused, r.status.Reason = false, ""
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

// run executes a child workflow and keeps it known while it is open.
func (r *runState) run(ctx workflow.Context, fn, in, out any) error {
	r.child = workflow.ExecuteChildWorkflow(ctx, fn, in)
	r.status.Child = workflow.GetChildWorkflowOptions(ctx).WorkflowID
	defer func() { r.status.Child = "" }()

	return r.child.Get(ctx, out)
}
