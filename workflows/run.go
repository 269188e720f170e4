package workflows

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/store/runs"
)

// RunInput is a run and what it carries from epoch to epoch.
type RunInput struct {
	Name   string
	Paused bool
	Reason string // why it is paused, and who said so
	// FineTune ends the run behind stage 1; started again without it, the run goes on from there.
	FineTune bool `json:",omitempty"`
}

// Command is the argument of updates: who asks, and why.
type Command struct {
	Who string
	Why string
}

// Status answers the query "status".
type Status struct {
	Name   string  `json:"name"`
	Stage  string  `json:"stage"` // planning, fine-tuning, epoch, evaluation, done
	Epoch  int     `json:"epoch"`
	Epochs int     `json:"epochs"`
	Paused bool    `json:"paused"` // waits: for a person, or after a fault of infrastructure for a while
	Held   bool    `json:"held"`   // waits for a person
	Reason string  `json:"reason,omitempty"`
	Val    float64 `json:"val"`             // the newest rate on val
	Child  string  `json:"child,omitempty"` // id of the workflow under way: it answers the query "progress"
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

type runState struct {
	in       RunInput
	status   Status
	plan     activities.Plan
	stopping bool
	cancel   workflow.CancelFunc          // of the stage under way
	child    workflow.ChildWorkflowFuture // the open child, to pass a pause on
}

// Run is the whole training: stage 1, then epochs, then the final evaluation. It begins where the store says, and continues as new after every epoch.
func Run(ctx workflow.Context, in RunInput) (runs.End, error) {
	r := &runState{in: in, status: Status{Name: in.Name, Stage: "planning", Paused: in.Paused, Held: in.Paused, Reason: in.Reason, Val: -1}}
	if err := r.setup(ctx); err != nil {
		return runs.End{}, err
	}
	if err := r.act(ctx, func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(on(ctx, QueueControl, "where does the run stand"), control.PlanRun, in.Name).Get(ctx, &r.plan)
	}); err != nil {
		return runs.End{}, err
	}
	r.status.Epochs = r.plan.Epochs
	if !r.plan.HasBase {
		if err := r.stage(ctx, "fine-tuning", 0, func(ctx workflow.Context) error {
			return r.run(child(ctx, in.Name+"/finetune", "stage 1: SFT on expert steps until one agent is in the band"), FineTune, FineTuneInput{Run: in.Name, Plan: r.plan}, nil)
		}); err != nil {
			return runs.End{}, err
		}
	}
	if in.FineTune {
		r.status.Stage = "stage 1 is over"
		r.describe(ctx)
		return runs.End{}, nil
	}
	if k := r.plan.Committed + 1; k <= r.plan.Epochs {
		if err := r.epoch(ctx, k); err != nil {
			return runs.End{}, err
		}
		if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
			return runs.End{}, err
		}
		if r.stopping {
			return runs.End{}, stopped(r.status.Reason)
		}
		return runs.End{}, workflow.NewContinueAsNewError(ctx, Run, RunInput{Name: in.Name, Paused: r.status.Held, Reason: r.status.Reason})
	}
	return r.finish(ctx)
}

func (r *runState) setup(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, QueryStatus, func() (Status, error) { return r.status, nil }); err != nil {
		return err
	}
	said := func(c Command) error {
		if strings.TrimSpace(c.Who) == "" {
			return errors.New("say who asks")
		}
		return nil
	}
	set := func(name string, valid func() error, do func(ctx workflow.Context, c Command)) error {
		return workflow.SetUpdateHandlerWithOptions(ctx, name, func(ctx workflow.Context, c Command) (Status, error) {
			do(ctx, c)
			return r.status, nil
		}, workflow.UpdateHandlerOptions{Validator: func(c Command) error { return errors.Join(said(c), valid()) }})
	}
	return errors.Join(
		set(UpdatePause, func() error {
			if r.status.Held {
				return fmt.Errorf("the run is paused already: %s", r.status.Reason)
			}
			return nil
		}, func(ctx workflow.Context, c Command) { r.pause(ctx, true, c.Who+": "+c.Why) }),
		set(UpdateResume, func() error {
			if !r.status.Paused {
				return errors.New("the run is not paused")
			}
			return nil
		}, func(ctx workflow.Context, c Command) { r.pause(ctx, false, "") }),
		set(UpdateStop, func() error { return nil }, func(ctx workflow.Context, c Command) {
			r.stopping = true
			r.status.Reason = "stopped by " + c.Who + ": " + c.Why
			if r.cancel != nil {
				r.cancel() // everything under way is resumable, so a stop need not wait for it
			}
		}))
}

func (r *runState) pause(ctx workflow.Context, on bool, why string) {
	r.status.Held, r.status.Paused, r.status.Reason = on, on, why
	if r.child != nil {
		_ = r.child.SignalChildWorkflow(ctx, signalPause, on).Get(ctx, nil) // a child that has just ended needs no signal
	}
	r.describe(ctx)
}

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

// stage runs one stage; a failure pauses the run with its reason, and after a resume the stage goes on from what is recorded.
func (r *runState) stage(ctx workflow.Context, name string, epoch int, do func(workflow.Context) error) error {
	r.status.Stage, r.status.Epoch = name, epoch
	if err := workflow.UpsertTypedSearchAttributes(ctx, attrRun.ValueSet(r.in.Name), attrStage.ValueSet(name), attrEpoch.ValueSet(int64(epoch)), attrEnvironment.ValueSet(r.plan.Environment)); err != nil {
		return err
	}
	return r.act(ctx, do)
}

func (r *runState) act(ctx workflow.Context, do func(workflow.Context) error) error {
	for {
		r.describe(ctx)
		if err := workflow.Await(ctx, func() bool { return !r.status.Held || r.stopping }); err != nil {
			return err
		}
		if r.stopping {
			return stopped(r.status.Reason)
		}
		stage, cancel := workflow.WithCancel(ctx)
		r.cancel = cancel
		err := do(stage)
		r.child, r.cancel = nil, nil
		if r.stopping {
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

// wait is what a failed stage does. Where only a person can help, the run is held. A fault of infrastructure passes with time: the run says what it waits
// for, and goes on after a while, or when a person says resume; a person's pause holds it beyond that.
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
	if _, err := workflow.AwaitWithTimeout(ctx, pauseLimit, func() bool { return !r.status.Paused || r.status.Held || r.stopping }); err != nil {
		return err
	}
	if !r.status.Held {
		r.status.Paused, r.status.Reason = false, ""
	}
	return nil
}

// pauseLimit is how long a run that paused by itself for a fault of infrastructure waits before it tries again.
const pauseLimit = 10 * time.Minute

// rootCause is what the activity that failed says, and whether another try can help. What lies below it is only the chain of its error.
func rootCause(err error) (why string, again bool) {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Message(), !app.NonRetryable()
	}
	return err.Error(), true
}

// run executes a child workflow and keeps it known while it is open.
func (r *runState) run(ctx workflow.Context, fn, in, out any) error {
	r.child, r.status.Child = workflow.ExecuteChildWorkflow(ctx, fn, in), workflow.GetChildWorkflowOptions(ctx).WorkflowID
	defer func() { r.status.Child = "" }()
	return r.child.Get(ctx, out)
}

func (r *runState) epoch(ctx workflow.Context, k int) error {
	if k == 1 { // the curve begins at epoch 0, and the choice of base-1's decoding is made on val
		if err := r.stage(ctx, "evaluation", 0, func(ctx workflow.Context) error {
			return r.evaluate(ctx, 0, "val", []rules.Split{{Name: domain.SplitVal, Episodes: r.plan.Val}}, nil)
		}); err != nil {
			return err
		}
	}
	return r.stage(ctx, "epoch", k, func(ctx workflow.Context) error {
		var sum activities.EpochSummary
		err := r.run(child(ctx, epochID(r.in.Name, k), fmt.Sprintf("epoch %d of %d: %d slots", k, r.plan.Epochs, r.plan.Slots)), Epoch, EpochInput{Run: r.in.Name, Epoch: k, Plan: r.plan}, &sum)
		if err == nil && sum.Val >= 0 {
			r.status.Val = sum.Val
		}
		return err
	})
}

// evaluate runs the systems of an epoch that keep says (all if nil) on splits.
func (r *runState) evaluate(ctx workflow.Context, epoch int, label string, splits []rules.Split, keep func(string) bool) error {
	var systems []rules.EvalSystem
	if err := workflow.ExecuteActivity(on(ctx, QueueControl, "systems to evaluate"), control.Systems, activities.SystemsID{Run: r.in.Name, Epoch: epoch}).Get(ctx, &systems); err != nil {
		return err
	}
	var items []rules.EvalItem
	for _, s := range systems {
		if keep != nil && !keep(s.Name) {
			continue
		}
		for _, sp := range splits {
			items = append(items, sp.Item(r.in.Name, rules.EpochFolder(epoch), s))
		}
	}
	return r.run(child(ctx, evalID(r.in.Name, epoch, label), fmt.Sprintf("evaluation of epoch %d on %s", epoch, label)), Evaluation, items, nil)
}

func (r *runState) finish(ctx workflow.Context) (runs.End, error) {
	var end runs.End
	err := r.stage(ctx, "evaluation", r.plan.Epochs, func(ctx workflow.Context) error {
		if r.plan.Ended {
			return nil
		}
		if r.plan.Epochs == 0 {
			if err := r.evaluate(ctx, 0, "val", []rules.Split{{Name: domain.SplitVal, Episodes: r.plan.Val}}, nil); err != nil {
				return err
			}
		}
		var f activities.Final
		if err := workflow.ExecuteActivity(on(ctx, QueueControl, "choose the best epoch on val"), control.PlanFinal, r.in.Name).Get(ctx, &f); err != nil {
			return err
		}
		if err := r.evaluate(ctx, 0, "test", f.Splits, func(name string) bool { return name == f.Base1 || name == rules.BaseName(r.plan.Agents) }); err != nil {
			return err
		}
		if len(f.References) > 0 {
			if err := r.run(child(ctx, evalID(r.in.Name, 0, "references"), "evaluation of systems without policies"), Evaluation, f.References, nil); err != nil {
				return err
			}
		}
		if f.Best == 0 {
			return nil
		}
		return r.evaluate(ctx, f.Best, "test", f.Splits, nil)
	})
	if err != nil {
		return end, err
	}
	err = r.act(ctx, func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(on(ctx, QueueControl, "write end.json"), control.Finish, r.in.Name).Get(ctx, &end)
	})
	if err != nil {
		return end, err
	}
	r.status.Stage = "done"
	r.describe(ctx)
	return end, workflow.UpsertTypedSearchAttributes(ctx, attrStage.ValueSet(r.status.Stage), attrRate.ValueSet(rateOf(end)), attrSystem.ValueSet(rules.TrainedName(r.plan.Agents)))
}

// rateOf is the highest rate on val.
func rateOf(end runs.End) float64 {
	best := 0.0
	for _, p := range end.Curve {
		best = max(best, p.Rate)
	}
	return best
}
