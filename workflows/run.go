package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/store/notices"
	"github.com/collabui/collabui/internal/store/runs"
)

// RunInput is a run and what it carries from epoch to epoch.
type RunInput struct {
	Name   string
	Paused bool
	Reason string // why it is paused, and who paused it

	// Asked is when the run began, or was last asked to pause, to continue or to stop. The store may know of a later
	// command: then this Temporal is older than the store.
	Asked time.Time `json:",omitzero"`

	// FineTune ends the run after stage 1. Started again without it, the run continues from there.
	FineTune bool `json:",omitempty"`

	Changes int `json:",omitempty"` // how many changes of values by people there are at least
}

// runState is a run until it continues as new.
type runState struct {
	in      RunInput
	status  Status
	plan    activities.Plan
	past    []activities.EpochSummary // the newest epochs
	end     runs.End
	told    string                       // the reason of the last pause of which people were notified
	telling int                          // notices that are being written
	early   []*early                     // epochs that began beside the present one, in order
	cancel  workflow.CancelFunc          // cancels the current stage
	child   workflow.ChildWorkflowFuture // the open child, to pass a pause on to
}

// Run is the whole training: stage 1, then epochs, then the final evaluation. It begins where the store says, and
// continues as new after an epoch beside which the next one has not begun.
func Run(ctx workflow.Context, in RunInput) (runs.End, error) {
	r := &runState{in: in, status: Status{
		Name: in.Name, Stage: StagePlanning, Paused: in.Paused, Held: in.Paused, Reason: in.Reason, Val: -1,
	}}
	if r.in.Asked.IsZero() {
		r.in.Asked = workflow.Now(ctx).UTC()
	}
	if err := r.setup(ctx); err != nil {
		return runs.End{}, err
	}
	workflow.Go(ctx, r.beginEarly)

	if err := r.replan(ctx); err != nil {
		return runs.End{}, err
	}

	if !r.plan.HasBase {
		if err := r.stage(ctx, StageFineTuning, 0, r.fineTune); err != nil {
			return runs.End{}, err
		}
		if err := r.replan(ctx); err != nil { // values may have changed
			return runs.End{}, err
		}
	}
	if in.FineTune {
		r.status.Stage = StageFineTuned
		r.describe(ctx)

		return runs.End{}, r.answered(ctx)
	}
	if next := r.plan.Committed + 1; next <= r.plan.Epochs {
		return runs.End{}, r.epochsAndOn(ctx, next)
	}

	return r.finish(ctx)
}

// replan reads where the run continues.
func (r *runState) replan(ctx workflow.Context) error {
	err := r.act(ctx, func(ctx workflow.Context) error {
		pctx := long(on(ctx, QueueControl, "find where the run continues"))
		id := activities.RunID{Run: r.in.Name, Changes: r.in.Changes}
		err := workflow.ExecuteActivity(pctx, control.PlanRun, id).Get(ctx, &r.plan)
		r.plan.Changes = r.in.Changes // more may have been made meanwhile

		return err
	})
	asked := r.plan.Asked
	r.past, r.plan.Past, r.plan.Asked = r.plan.Past, nil, nil // children do not need them
	r.status.Epochs = r.plan.Epochs
	if err == nil {
		r.remind(ctx, asked)
	}

	return err
}

// remind holds the run if the store knows of a pause or a stop that this workflow never heard of: Temporal's data are
// older than it.
func (r *runState) remind(ctx workflow.Context, asked *runs.Change) {
	if asked == nil || !asked.At.After(r.in.Asked) {
		return
	}
	r.in.Asked = asked.At
	if asked.Verb == runs.VerbResume || r.status.Held {
		return
	}
	r.pause(ctx, true, fmt.Sprintf("the store has a %s by %s at %s (%s), but Temporal's data are older than that: "+
		"resume the run, or stop it again", asked.Verb, asked.Who, asked.At.Format(time.DateTime), asked.Why))
	r.tell(ctx, notices.Paused, r.status.Reason)
}

// fineTune runs stage 1.
func (r *runState) fineTune(ctx workflow.Context) error {
	cctx := child(ctx, r.in.Name+"/finetune", "stage 1: SFT on expert steps until one agent is in the band")

	return r.run(cctx, FineTune, FineTuneInput{Run: r.in.Name, Plan: r.plan}, nil)
}

// epochsAndOn runs epochs as long as each begins beside the one before, then ends the workflow: it continues as new, or
// it was stopped.
func (r *runState) epochsAndOn(ctx workflow.Context, k int) error {
	for {
		if err := r.epoch(ctx, k); err != nil {
			return err
		}
		if len(r.early) == 0 {
			break
		}
		if err := r.replan(ctx); err != nil { // values may have changed
			return err
		}
		if k = r.plan.Committed + 1; k > r.plan.Epochs {
			r.giveUp(ctx)

			break
		}
	}
	if err := r.answered(ctx); err != nil {
		return err
	}
	if r.stops() {
		return r.stopped(ctx)
	}
	next := RunInput{
		Name: r.in.Name, Paused: r.status.Held, Reason: r.status.Reason, Asked: r.in.Asked, Changes: r.in.Changes,
	}

	return again(ctx, Run, next)
}

// epoch runs epoch k. Before the first one, the base systems are evaluated on val: the curve begins at epoch 0, and the
// decoding of base-1 is chosen on val.
func (r *runState) epoch(ctx workflow.Context, k int) error {
	if k == 1 {
		if err := r.stage(ctx, StageEvaluation, 0, r.evaluateBase); err != nil {
			return err
		}
	}

	return r.stage(ctx, StageEpoch, k, func(ctx workflow.Context) error {
		var sum activities.EpochSummary
		in := EpochInput{Run: r.in.Name, Epoch: k, Plan: r.plan}
		id, own := epochID(r.in.Name, k), r.begun(ctx, k)
		if own == nil { // a person may have held or stopped the run meanwhile
			if err := workflow.Await(ctx, r.free); err != nil || r.stops() {
				return err
			}
			own = workflow.ExecuteChildWorkflow(child(ctx, id, r.summary(k)), Epoch, in)
		}
		err := r.wait(ctx, own, id, &sum)
		r.child = nil
		if err != nil || r.stops() {
			r.giveUp(ctx)
		}
		if err == nil && sum.Epoch == k { // it is committed
			r.remember(sum)
			r.describe(ctx)
		}
		if err == nil && sum.Val >= 0 {
			r.status.Val = sum.Val
		}

		return err
	})
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
	all, err := systems(ctx, activities.SystemsID{Run: r.in.Name, Epoch: epoch, AtEnd: atEnd})
	if err != nil {
		return err
	}

	var items []rules.EvalItem
	for _, s := range all {
		if keep != nil && !keep(s.Name) {
			continue
		}
		for _, split := range splits {
			item := split.Item(r.in.Name, rules.EpochFolder(epoch), s)
			item.AtEnd = atEnd
			items = append(items, item)
		}
	}
	cctx := child(ctx, evalID(r.in.Name, epoch, label), fmt.Sprintf("evaluation of epoch %d on %s", epoch, label))

	return r.run(cctx, Evaluation, items, nil)
}

// finish evaluates the base and the best system on the test splits, and writes the result of the run.
func (r *runState) finish(ctx workflow.Context) (runs.End, error) {
	var end runs.End
	if err := r.stage(ctx, StageEvaluation, r.plan.Epochs, r.evaluateFinal); err != nil {
		return end, err
	}
	if err := r.act(ctx, func(ctx workflow.Context) error {
		fctx := long(on(ctx, QueueControl, "write end.json"))

		return workflow.ExecuteActivity(fctx, control.Finish, r.in.Name).Get(ctx, &end)
	}); err != nil {
		return end, err
	}

	r.status.Stage, r.end = StageDone, end
	r.describe(ctx)

	if err := workflow.UpsertTypedSearchAttributes(ctx, attrStage.ValueSet(r.status.Stage),
		attrRate.ValueSet(rateOf(end)), attrSystem.ValueSet(rules.TrainedName(r.plan.Agents))); err != nil {
		return end, err
	}

	r.tell(ctx, notices.Ended, fmt.Sprintf("it has ended; val %.1f %% at best, final digest %s",
		100*rateOf(end), end.FinalDigest))

	return end, r.answered(ctx)
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

	var f activities.Final
	choose := long(on(ctx, QueueControl, "choose the best epoch on val"))
	id := activities.EpochID{Run: r.in.Name, Epoch: r.plan.Committed, Changes: r.in.Changes}
	if err := workflow.ExecuteActivity(choose, control.PlanFinal, id).Get(ctx, &f); err != nil {
		return err
	}

	base := func(name string) bool { return name == f.Base1 || name == rules.BaseName(r.plan.Agents) }
	if !f.WithoutBase {
		if err := r.evaluate(ctx, 0, labelTest, f.Splits, base); err != nil {
			return err
		}
	}
	if len(f.References) > 0 {
		cctx := child(ctx, evalID(r.in.Name, 0, "references"), "evaluation of systems without policies")
		if err := r.run(cctx, Evaluation, f.References, nil); err != nil {
			return err
		}
	}
	if f.Best == 0 {
		return nil
	}

	return r.evaluate(ctx, f.Best, labelTest, f.Splits, nil)
}

// rateOf returns the highest rate on val.
func rateOf(end runs.End) float64 {
	best := 0.0
	for _, p := range end.Curve {
		best = max(best, p.Rate)
	}

	return best
}
