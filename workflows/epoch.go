package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	epochs "github.com/collabui/collabui/activities/epoch"
	"github.com/collabui/collabui/activities/evaluate"
	"github.com/collabui/collabui/activities/update"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
)

// epoch does an epoch: rollouts, n updates concurrently, publish, evaluation when due, commit. The rollouts of the next
// one begin beside it as early as they may. Before the first epoch, the base systems are evaluated on val: the curve
// begins at epoch 0, and the decoding of base-1 is chosen on val.
func (r *runState) epoch(ctx workflow.Context, epoch int) error {
	if epoch == 1 {
		if err := r.enter(ctx, StageEvaluation, 0); err != nil {
			return err
		}
		if err := r.evaluateBase(ctx); err != nil {
			return err
		}
	}
	if err := r.enter(ctx, StageEpoch, epoch); err != nil {
		return err
	}
	id := activities.EpochID{Run: r.in.Name, Epoch: epoch, Changes: r.plan.Changes}
	plan, err := planEpoch(ctx, id, control.PlanEpoch)
	if err != nil {
		return err
	}
	played, err := r.rollOut(ctx, epoch, plan)
	if err != nil || !played {
		return err
	}

	return r.train(ctx, epoch, plan)
}

// rollOut plays the episodes of an epoch, unless those have begun early. It reports whether all are played: a run that
// somebody stops leaves some out. Where policies may lag, the rollouts of the next epoch begin meanwhile; if labels
// need all episodes of this one, they wait until no person can let any of them be played again.
func (r *runState) rollOut(ctx workflow.Context, epoch int, plan epochs.Plan) (played bool, err error) {
	in := RolloutsInput{Run: r.in.Name, Epoch: epoch, Plan: r.plan}
	id := epochID(in.Run, epoch)
	lags := plan.Next == epochs.BesideUpdates
	own := r.takeEarly(ctx, epoch)
	var out RolledOut
	for out.Slots == 0 { // what began too early begins again
		if own == nil {
			if err := workflow.Await(ctx, r.free); err != nil || r.stops() {
				return false, err
			}
			own = workflow.ExecuteChildWorkflow(child(ctx, id, r.summary(epoch)), Rollouts, in)
		}
		if lags && !plan.Learns {
			r.beginEarly(ctx, epoch+1, false)
		}
		if err := r.wait(ctx, own, id, &out); err != nil {
			return false, err
		}
		own = nil
	}

	if out.Tally.Done < out.Slots {
		return false, nil
	}
	if why := askAPerson(in, plan, out.Tally); why != "" {
		return false, temporal.NewNonRetryableApplicationError(why, string(fault.Invalid), nil)
	}
	if lags && plan.Learns {
		r.beginEarly(ctx, epoch+1, true)
	}

	return true, workflow.Await(ctx, r.free)
}

// train trains on an epoch whose episodes are played, and commits it. Where val decides nothing, rollouts begin beside
// its evaluation: of the next epoch, or of the one after that if policies may lag.
func (r *runState) train(ctx workflow.Context, epoch int, plan epochs.Plan) error {
	r.enterPhase(ctx, PhaseUpdates)
	if err := r.updates(ctx, epoch); err != nil {
		return err
	}
	id := activities.EpochID{Run: r.in.Name, Epoch: epoch}
	load := on(ctx, QueueGPU, "load the new policies")
	if err := workflow.ExecuteActivity(load, gpu.Publish, id).Get(ctx, nil); err != nil {
		return err
	}

	done := epochs.CommitID{EpochID: id, Evaluated: epoch%r.plan.EvalEvery == 0 || epoch == r.plan.Epochs}
	if done.Evaluated {
		switch {
		case plan.Next == epochs.BesideEvaluation:
			r.beginEarly(ctx, epoch+1, true)
		case plan.Next == epochs.BesideUpdates && plan.Known && !plan.Learns:
			r.beginEarly(ctx, epoch+2, false)
		}
		r.enterPhase(ctx, PhaseEvaluation)
		if err := r.evaluateEpoch(ctx, epoch); err != nil {
			return err
		}
	}

	r.enterPhase(ctx, PhaseCommit)
	var sum epochs.Summary
	commit := long(on(ctx, QueueControl, "write epoch.json"))
	if err := workflow.ExecuteActivity(commit, control.Commit, done).Get(ctx, &sum); err != nil {
		return err
	}

	return r.conclude(ctx, sum)
}

// conclude shows an epoch that was committed. The run continues as new if no later one has begun.
func (r *runState) conclude(ctx workflow.Context, sum epochs.Summary) error {
	r.progress = Progress{}
	r.remember(sum)
	r.describe(ctx)
	if sum.Val >= 0 {
		r.status.Val = sum.Val
		if err := workflow.UpsertTypedSearchAttributes(ctx,
			setRate(sum.Val, true), attrSystem.ValueSet(rules.TrainedName(r.plan.Agents))); err != nil {
			return err
		}
	}
	if len(r.early) > 0 || r.stops() {
		return nil
	}

	return r.renew(ctx)
}

// enterPhase begins a phase of an epoch.
func (r *runState) enterPhase(ctx workflow.Context, phase string) {
	r.progress = Progress{Phase: phase, Agents: r.plan.Agents, Since: workflow.Now(ctx)}
	r.describe(ctx)
}

// askAPerson returns why only a person can let an epoch continue, and how: too many slots failed, or models refused too
// many prompts. It is empty if no person is needed.
func askAPerson(in RolloutsInput, plan epochs.Plan, tally Tally) string {
	switch share := in.Plan.FailedShare; {
	case plan.Accepted:
		return ""
	case float64(tally.Failed) > share*float64(plan.Slots):
		return fmt.Sprintf("%d of %d slots of epoch %d failed, more than failed_share allows; the first is %s. "+
			"Play them again with `collabui resume %s --retry-failed`, or go on without them with "+
			"`collabui resume %[5]s --accept-failed --why TEXT`",
			tally.Failed, plan.Slots, in.Epoch, tally.Why, in.Run)
	case float64(tally.RefusedCells) > share*float64(tally.Cells),
		float64(tally.RefusedGrades) > share*float64(tally.Graded):
		return fmt.Sprintf("models refused %d of %d prompts of agents, and the critic refused %d of %d steps or "+
			"gave them no score that can be read, in epoch %d: more than failed_share allows. Examples are in %s. "+
			"Change the critic of the epochs that follow with `collabui set %s critic.model=NAME`, and continue "+
			"without what is missing with `collabui resume %[7]s --accept-failed --why TEXT`",
			tally.RefusedCells, tally.Cells, tally.RefusedGrades, tally.Graded, in.Epoch, tally.WhyRefused, in.Run)
	}

	return ""
}

// updates trains all agents concurrently. With shared parameters the first agent's update is everyone's, so the others
// follow it.
func (r *runState) updates(ctx workflow.Context, epoch int) error {
	wg := workflow.NewWaitGroup(ctx)
	var first error
	for a := range r.plan.Agents {
		if r.plan.Shared && a == 1 {
			wg.Wait(ctx)
			if first != nil {
				return first
			}
		}

		uctx := on(ctx, QueueGPU, fmt.Sprintf("agent %d: preference optimisation", a))
		future := workflow.ExecuteActivity(uctx, gpu.Update, update.AgentID{Run: r.in.Name, Epoch: epoch, Agent: a})
		wg.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer wg.Done()
			if err := future.Get(ctx, nil); err != nil && first == nil {
				first = err
			}
			r.progress.Updates++
		})
	}
	wg.Wait(ctx)

	return first
}

// evaluateEpoch evaluates the trained system on val.
func (r *runState) evaluateEpoch(ctx workflow.Context, epoch int) error {
	all, err := systems(ctx, evaluate.SystemsID{Run: r.in.Name, Epoch: epoch})
	if err == nil {
		err = workflow.Await(ctx, r.free)
	}
	if err != nil {
		return err
	}
	val := rules.Split{Name: domain.SplitVal, Episodes: r.plan.Val}
	items := []rules.EvalItem{val.Item(r.in.Name, rules.EpochFolder(epoch), all[0])}
	summary := fmt.Sprintf("evaluation of epoch %d on val", epoch)

	return r.run(child(ctx, evalID(r.in.Name, epoch, domain.SplitVal), summary), Evaluation, items, nil)
}

// systems returns what can be evaluated at an epoch.
func systems(ctx workflow.Context, id evaluate.SystemsID) ([]rules.EvalSystem, error) {
	var out []rules.EvalSystem
	err := workflow.ExecuteActivity(on(ctx, QueueControl, "systems to evaluate"), control.Systems, id).Get(ctx, &out)

	return out, err
}
