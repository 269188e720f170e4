package workflows

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities/lifecycle"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/records/runs"
)

// Command is the argument of updates: who sends it, and why.
type Command struct {
	Who string
	Why string

	After After `json:",omitempty"` // when a stop takes effect; empty: now
}

// After is what a stop waits for.
type After string

// What a stop may wait for.
const (
	AfterEpisodes After = "episodes" // those that are open; updates and evaluations that have begun end, too
	AfterEpoch    After = "epoch"    // the current stage
)

// SetCommand is the argument of the update that changes values.
type SetCommand struct {
	Command
	Values map[string]string // in YAML, by key of the specification
}

// Names of queries, updates and signals.
const (
	QueryStatus   = "status"
	QueryProgress = "progress"
	UpdatePause   = "pause"
	UpdateResume  = "resume"
	UpdateStop    = "stop"
	UpdateSet     = "set"
	signalPause   = "pause"
	signalDrain   = "drain"
	signalWindow  = "window"
)

// NotPaused is the reason for which resume is refused.
const NotPaused = "the run is not paused"

// setup registers the queries and the updates of a run.
func (r *runState) setup(ctx workflow.Context) error {
	status := func() (Status, error) { return r.status, nil }

	return errors.Join(
		workflow.SetQueryHandler(ctx, QueryStatus, status),
		answerProgress(ctx, &r.progress),

		handleUpdate(ctx, UpdatePause, func(command Command) error {
			if r.status.Held {
				return fmt.Errorf("the run is paused already: %s", r.status.Reason)
			}

			return command.check()
		}, func(ctx workflow.Context, command Command) (Status, error) {
			r.pause(ctx, true, command.Who+": "+command.Why)
			err := r.note(ctx, runs.VerbPause, command)
			r.notify(ctx, domain.NoticePaused, r.status.Reason)
			if err != nil {
				err = fmt.Errorf("the run is paused, but %w", err)
			}

			return r.status, err
		}),

		handleUpdate(ctx, UpdateResume, func(command Command) error {
			if !r.status.Paused {
				return errors.New(NotPaused)
			}

			return command.check()
		}, func(ctx workflow.Context, command Command) (Status, error) {
			held := r.pauses
			if err := r.note(ctx, runs.VerbResume, command); err != nil { // workers would find the run held
				return r.status, fmt.Errorf("the run stays paused: %w", err)
			}
			if r.pauses == held { // nobody has paused it meanwhile
				r.pause(ctx, false, "")
			}

			return r.status, nil
		}),

		handleUpdate(ctx, UpdateStop, Command.check, func(ctx workflow.Context, command Command) (Status, error) {
			r.stop(ctx, command)
			err := r.note(ctx, runs.VerbStop, command)
			if err != nil {
				err = fmt.Errorf("the run stops, but %w", err)
			}

			return r.status, err
		}),

		handleUpdate(ctx, UpdateSet, SetCommand.check, func(
			ctx workflow.Context, command SetCommand,
		) (runs.Change, error) {
			return r.set(ctx, command)
		}),
	)
}

// handleUpdate registers an update: valid refuses its argument, or do applies it.
func handleUpdate[C, T any](
	ctx workflow.Context, name string, valid func(C) error, do func(workflow.Context, C) (T, error),
) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, name, do, workflow.UpdateHandlerOptions{Validator: valid})
}

// check refuses a command without a sender, or a stop that waits for nothing that is known.
func (c Command) check() error {
	if strings.TrimSpace(c.Who) == "" {
		return errors.New("say who asks")
	}
	if c.After != "" && c.After != AfterEpisodes && c.After != AfterEpoch {
		return fmt.Errorf("expected to stop after %s or %s, or now, not after %q", AfterEpisodes, AfterEpoch, c.After)
	}

	return nil
}

// check refuses a change of nothing.
func (c SetCommand) check() error {
	if len(c.Values) == 0 {
		return errors.New("say which values change")
	}

	return c.Command.check()
}

// stop ends the run, now or later. Every stage can resume, so it need not wait.
func (r *runState) stop(ctx workflow.Context, command Command) {
	r.status.Reason = "stopped by " + command.Who + ": " + command.Why
	if command.After != "" {
		r.status.StopAfter = command.After
		if command.After == AfterEpisodes {
			r.signal(ctx, signalDrain, true)
		} else {
			r.drainEarly(ctx)
		}
		r.describe(ctx)

		return
	}
	r.status.Stopping = true
	r.cancel()
}

// note records in the store what a person did. Who and why are in the history of the workflow already.
func (r *runState) note(ctx workflow.Context, verb runs.Verb, command Command) error {
	nctx := soon(on(ctx, QueueControl, string(verb)+" by "+command.Who))
	done := lifecycle.DoneID{Run: r.in.Name, Change: command.change(ctx, verb)}
	if !done.Change.At.After(r.in.Asked) { // the clock of the server was set back
		done.Change.At = r.in.Asked.Add(time.Nanosecond)
	}
	r.in.Asked = done.Change.At
	if err := workflow.ExecuteActivity(nctx, control.Note, done).Get(ctx, nil); err != nil {
		why, _ := rootCause(err)

		return fmt.Errorf("the %s could not be recorded: %s", verb, why)
	}

	return nil
}

// set records other values of the specification.
func (r *runState) set(ctx workflow.Context, command SetCommand) (change runs.Change, err error) {
	sctx := soon(on(ctx, QueueControl, "set by "+command.Who))
	in := lifecycle.SetID{Run: r.in.Name, Change: command.change(ctx, runs.VerbSet), Typed: command.Values}
	var done lifecycle.Recorded
	if err := workflow.ExecuteActivity(sctx, control.Set, in).Get(ctx, &done); err != nil {
		why, _ := rootCause(err)

		return change, errors.New(why)
	}
	change = done.Change
	r.in.Changes = max(r.in.Changes, done.Number)
	r.plan.Changes = r.in.Changes // for epochs that begin before the next plan
	if raw, ok := change.Values["epochs"]; ok {
		if n, err := strconv.Atoi(string(raw)); err == nil {
			r.status.Epochs = n
		}
	}
	if raw, ok := change.Values["window"]; ok {
		if n, err := strconv.Atoi(string(raw)); err == nil {
			r.plan.Window = n // for epochs that begin before the next plan
			r.signal(ctx, signalWindow, n)
		}
	}

	return change, nil
}

// change returns the record of a command.
func (c Command) change(ctx workflow.Context, verb runs.Verb) runs.Change {
	return runs.Change{Who: c.Who, Why: c.Why, At: workflow.Now(ctx).UTC(), Verb: verb}
}

// pause holds the run for a person, or lets it continue.
func (r *runState) pause(ctx workflow.Context, on bool, why string) {
	r.status.Held = on
	r.status.Paused = on
	r.status.Reason = why
	if on {
		r.pauses++
	}
	r.signal(ctx, signalPause, on)
	r.describe(ctx)
	r.mark(ctx)
}

// mark lets lists of workflows find a run that is paused, by its stage.
func (r *runState) mark(ctx workflow.Context) {
	_ = workflow.UpsertTypedSearchAttributes(ctx, attrStage.ValueSet(r.listed())) // it fails only for a wrong type
}

// listed returns the stage under which lists of workflows show the run.
func (r *runState) listed() string {
	if r.status.Paused {
		return StagePaused
	}

	return r.status.Stage
}

// ErrStopped is the type of the error with which a stopped run ends.
const ErrStopped = "stopped"

// stops reports whether the run ends as soon as no stage is running. One that is still planned has no open episodes,
// and one that is to stop after the epoch begins that first.
func (r *runState) stops() bool {
	return r.status.Stopping || r.status.StopAfter == AfterEpisodes ||
		r.status.StopAfter == AfterEpoch && r.status.Stage != StagePlanning
}

// stopped ends a run that somebody stopped, when all updates are answered.
func (r *runState) stopped(ctx workflow.Context) error {
	r.giveUp(ctx)
	r.notify(ctx, domain.NoticeStopped, r.status.Reason)
	if err := r.answered(ctx); err != nil {
		return err
	}

	return temporal.NewNonRetryableApplicationError(r.status.Reason, ErrStopped, nil)
}
