package workflows

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	epochs "github.com/collabui/collabui/activities/epoch"
	"github.com/collabui/collabui/activities/evaluate"
	"github.com/collabui/collabui/activities/lifecycle"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/records/runs"
)

// RunInput is a run and what it carries when it continues as new.
type RunInput struct {
	Name   string
	Paused bool
	Reason string // why it is paused or stops, and who asked for it

	// Asked is when somebody started the run, or last asked it to pause, to continue or to stop. The store may know of
	// a later command: then this Temporal is older than the store.
	Asked time.Time `json:",omitzero"`

	// FineTune ends the run after stage 1. Started again without it, the run continues from there.
	FineTune bool `json:",omitempty"`

	Changes   int    `json:",omitempty"` // how many changes of values by people there are at least
	StopAfter After  `json:",omitempty"`
	Told      string `json:",omitempty"` // the reason of the last pause of which people were notified
}

// runState is a run until it continues as new.
type runState struct {
	in          RunInput
	status      Status
	plan        lifecycle.Plan
	past        []epochs.Summary // the newest epochs
	end         runs.End
	notified    string                       // the reason of the last pause of which people were notified
	openNotices int                          // notices that are being written
	pauses      int                          // by people and by faults that only they can remove
	rounds      int                          // failures without a success between them
	opens       int                          // of these, those for a child that was still open
	early       []*earlyRollouts             // of epochs after the present one, in order
	cancel      workflow.CancelFunc          // cancels what the run does
	child       workflow.ChildWorkflowFuture // the open child, to pass a pause on to

	progress Progress // of what the run does itself
}

// Run is the whole training: stage 1, then epochs, then the final evaluation. The store decides what comes next, and is
// read again after every stage and after every failure. The run continues as new after an epoch beside which no later
// one has begun, and when it has failed for long.
func Run(ctx workflow.Context, in RunInput) (runs.End, error) {
	state := &runState{in: in, notified: in.Told, status: Status{
		Name: in.Name, Stage: StagePlanning, Paused: in.Paused, Held: in.Paused, Reason: in.Reason, Val: -1,
		StopAfter: in.StopAfter,
	}}
	if state.in.Asked.IsZero() {
		state.in.Asked = workflow.Now(ctx).UTC()
	}
	work, cancel := workflow.WithCancel(ctx)
	state.cancel = cancel
	if err := state.setup(ctx); err != nil {
		return runs.End{}, err
	}

	for {
		if state.rounds >= maxRounds || state.rounds > 0 && renews(ctx) {
			return runs.End{}, state.renew(ctx)
		}
		if over, err := state.act(ctx, work); err != nil || over {
			return state.end, err
		}
	}
}

// renew continues the run as new.
func (r *runState) renew(ctx workflow.Context) error {
	r.giveUp(ctx)
	if err := r.answered(ctx); err != nil {
		return err
	}

	return continueAsNew(ctx, Run, RunInput{
		Name: r.in.Name, FineTune: r.in.FineTune, Paused: r.status.Held, Reason: r.status.Reason,
		Asked: r.in.Asked, Changes: r.in.Changes, StopAfter: r.status.StopAfter, Told: r.notified,
	})
}

// advance reads in the store where the run continues, and does the stage that comes next. It reports whether the run is
// over.
func (r *runState) advance(ctx workflow.Context) (over bool, err error) {
	if err := r.replan(ctx); err != nil || !r.free() || r.stops() {
		return false, err
	}
	next := r.plan.Committed + 1
	if len(r.early) > 0 && (next > r.plan.Epochs || r.early[0].epoch < next || r.early[0].epoch > next+1) {
		r.giveUp(ctx)
	}
	switch {
	case !r.plan.HasBase:
		return false, r.fineTune(ctx)
	case r.in.FineTune:
		r.status.Stage = StageFineTuned
		r.describe(ctx)

		return true, r.answered(ctx)
	case next <= r.plan.Epochs:
		return false, r.epoch(ctx, next)
	}

	return true, r.finish(ctx)
}

// replan reads where the run continues. The store also knows what people wanted that this workflow may not know: one
// that was restored from a backup of Temporal is older than the store.
func (r *runState) replan(ctx workflow.Context) error {
	pctx := long(on(ctx, QueueControl, "find where the run continues"))
	id := lifecycle.RunID{Run: r.in.Name, Changes: r.in.Changes, Asked: r.in.Asked}
	err := workflow.ExecuteActivity(pctx, control.PlanRun, id).Get(ctx, &r.plan)
	r.plan.Changes = r.in.Changes // more may have been made meanwhile
	if err != nil {
		return err
	}
	r.remind(ctx, r.plan.Asked)
	r.past = r.plan.Past
	r.plan.Past = nil // children need neither of the two
	r.plan.Asked = nil
	r.status.Epochs = r.plan.Epochs

	return nil
}

// remind holds the run if the store knows of a pause or a stop that this workflow never heard of: Temporal's data are
// older than it. One of the very moment in which somebody started the run holds it, too.
func (r *runState) remind(ctx workflow.Context, asked *runs.Change) {
	if asked == nil || asked.At.Before(r.in.Asked) {
		return
	}
	r.in.Asked = asked.At
	if asked.Verb == runs.VerbResume || r.status.Held {
		return
	}
	r.pause(ctx, true, fmt.Sprintf("the store has a %s by %s at %s (%s), but Temporal's data are older than that: "+
		"resume the run, or stop it again", asked.Verb, asked.Who, asked.At.Format(time.DateTime), asked.Why))
	r.notify(ctx, domain.NoticePaused, r.status.Reason)
}

// fineTune runs stage 1.
func (r *runState) fineTune(ctx workflow.Context) error {
	if err := r.enter(ctx, StageFineTuning, 0); err != nil {
		return err
	}
	cctx := child(ctx, r.in.Name+"/finetune", "stage 1: SFT on expert steps until one agent is in the band")

	return r.run(cctx, FineTune, FineTuneInput{Run: r.in.Name, Plan: r.plan}, nil)
}

// evaluateBase evaluates the base systems on val.
func (r *runState) evaluateBase(ctx workflow.Context) error {
	val := []rules.Split{{Name: domain.SplitVal, Episodes: r.plan.Val}}

	return r.evaluate(ctx, 0, domain.SplitVal, val, nil)
}

// labelTest labels the evaluations at the end of a run.
const labelTest = "test"

// evaluate runs the systems of an epoch that keep selects (all if nil) on splits.
func (r *runState) evaluate(
	ctx workflow.Context, epoch int, label string, splits []rules.Split, keep func(string) bool,
) error {
	atEnd := label == labelTest
	all, err := systems(ctx, evaluate.SystemsID{Run: r.in.Name, Epoch: epoch, AtEnd: atEnd})
	if err != nil {
		return err
	}

	var items []rules.EvalItem
	for _, evalSystem := range all {
		if keep != nil && !keep(evalSystem.Name) {
			continue
		}
		for _, split := range splits {
			item := split.Item(r.in.Name, rules.EpochFolder(epoch), evalSystem)
			item.AtEnd = atEnd
			items = append(items, item)
		}
	}
	cctx := child(ctx, evalID(r.in.Name, epoch, label), fmt.Sprintf("evaluation of epoch %d on %s", epoch, label))

	return r.run(cctx, Evaluation, items, nil)
}

// finish evaluates the base and the best system on the test splits, and writes the result of the run.
func (r *runState) finish(ctx workflow.Context) error {
	if err := r.enter(ctx, StageEvaluation, r.plan.Epochs); err != nil {
		return err
	}
	if err := r.evaluateFinal(ctx); err != nil {
		return err
	}
	fctx := long(on(ctx, QueueControl, "write end.json"))
	if err := workflow.ExecuteActivity(fctx, control.Finish, r.in.Name).Get(ctx, &r.end); err != nil {
		return err
	}

	r.status.Stage = StageDone
	r.describe(ctx)
	err := workflow.UpsertTypedSearchAttributes(ctx, attrStage.ValueSet(r.status.Stage),
		setRate(rateOf(r.end), len(r.end.Curve) > 0), attrSystem.ValueSet(rules.TrainedName(r.plan.Agents)))
	if err != nil {
		return err
	}
	r.notify(ctx, domain.NoticeEnded, fmt.Sprintf("it has ended; val %.1f %% at best, final digest %s",
		100*rateOf(r.end), r.end.FinalDigest))

	return r.answered(ctx)
}

// evaluateFinal plays the last evaluations of a run.
func (r *runState) evaluateFinal(ctx workflow.Context) error {
	if r.plan.Ended {
		return nil
	}
	if r.plan.Epochs == 0 {
		if err := r.evaluateBase(ctx); err != nil {
			return err
		}
	}

	final, err := r.planFinal(ctx)
	if err == nil && final.LacksBase {
		if err := r.evaluateBase(ctx); err != nil {
			return err
		}
		final, err = r.planFinal(ctx)
	}
	if err != nil {
		return err
	}
	if final.LacksBase {
		return errors.New("the store does not show the results of the base on val, which were recorded just now")
	}

	base := func(name string) bool {
		agents := r.plan.Agents

		return name == final.Base1 || name == rules.BaseName(agents) || name == rules.SilentName(agents)
	}
	if !final.WithoutBase {
		if err := r.evaluate(ctx, 0, labelTest, final.Splits, base); err != nil {
			return err
		}
	}
	if len(final.References) > 0 {
		cctx := child(ctx, evalID(r.in.Name, 0, "references"), "evaluation of systems without policies")
		if err := r.run(cctx, Evaluation, final.References, nil); err != nil {
			return err
		}
	}
	if final.Best == 0 {
		return nil
	}

	return r.evaluate(ctx, final.Best, labelTest, final.Splits, nil)
}

// planFinal plans the last evaluations.
func (r *runState) planFinal(ctx workflow.Context) (final evaluate.Final, err error) {
	choose := long(on(ctx, QueueControl, "choose the best epoch on val"))
	id := activities.EpochID{Run: r.in.Name, Epoch: r.plan.Committed, Changes: r.in.Changes}
	err = workflow.ExecuteActivity(choose, control.PlanFinal, id).Get(ctx, &final)

	return final, err
}

// rateOf returns the highest rate on val.
func rateOf(end runs.End) float64 {
	best := 0.0
	for _, evalPoint := range end.Curve {
		best = max(best, evalPoint.Rate)
	}

	return best
}
