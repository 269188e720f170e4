package workflows

import (
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/epoch"
	"github.com/collabui/collabui/activities/evaluate"
	"github.com/collabui/collabui/activities/lifecycle"
	"github.com/collabui/collabui/activities/update"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
)

// EpochInput is one epoch of a run.
type EpochInput struct {
	Run   string
	Epoch int
	Plan  lifecycle.Plan

	// Behind is the number of epochs before this one that are open. It plays its episodes, and waits for its turn.
	Behind    int  `json:",omitempty"`
	AllPlayed bool `json:",omitempty"` // those of the epoch before, when this one begins
}

// Window is the number of episodes of a shard that are open concurrently, unless the specification has another. Real
// concurrency is bounded by the workers.
const Window = 32

// Epoch is one epoch: topology, slots, n updates concurrently, publish, evaluation when due, commit. It tells the run
// when the next one may begin beside it.
func Epoch(ctx workflow.Context, in EpochInput) (epoch.Summary, error) {
	var sum epoch.Summary
	p := Progress{Phase: PhaseRollouts, Slots: in.Plan.Slots, Agents: in.Plan.Agents, Since: workflow.Now(ctx)}
	if err := workflow.SetQueryHandler(ctx, QueryProgress, func() (Progress, error) { return p, nil }); err != nil {
		return sum, err
	}
	own := &shards{in: in, p: &p, behind: in.Behind, window: in.Plan.Window}
	if in.Behind > 0 {
		p.Phase = PhaseAhead
	}
	workflow.Go(ctx, own.passOn)
	plan, err := beginEpoch(ctx, own)
	if err != nil {
		return sum, err
	}
	p.Slots, p.Since = plan.Slots, workflow.Now(ctx)

	return playEpoch(ctx, plan, own)
}

// playEpoch plays an epoch that is planned, trains on it and commits it.
func playEpoch(ctx workflow.Context, plan epoch.Plan, own *shards) (sum epoch.Summary, err error) {
	in, p := own.in, own.p
	id := activities.EpochID{Run: in.Run, Epoch: in.Epoch}
	if err := own.start(ctx, plan.Slots); err != nil {
		return sum, err
	}
	own.invite(ctx, plan, epoch.BesideUpdates)
	whole, err := own.wait(ctx)
	if err == nil {
		err = own.turn(ctx)
	}
	if err != nil {
		return sum, err
	}
	in = own.in
	if own.drained && (own.behind > 0 || whole.Done < plan.Slots) {
		sum.Val = -1

		return sum, nil
	}
	if why := askAPerson(in, plan, whole); why != "" {
		return sum, temporal.NewNonRetryableApplicationError(why, string(fault.Invalid), nil)
	}

	own.sure = true
	if err := own.free(ctx); err != nil {
		return sum, err
	}
	p.Phase, p.Since = PhaseUpdates, workflow.Now(ctx)
	hosts, err := updates(ctx, in, p)
	if err != nil {
		return sum, err
	}
	load := on(ctx, QueueGPU, "load the new policies")
	if err := workflow.ExecuteActivity(load, gpu.Publish, id).Get(ctx, nil); err != nil {
		return sum, err
	}

	done := epoch.CommitID{EpochID: id, Evaluated: in.Epoch%in.Plan.EvalEvery == 0 || in.Epoch == in.Plan.Epochs}
	if done.Evaluated {
		p.Phase, p.Since = PhaseEvaluation, workflow.Now(ctx)
		p.Child = evalID(in.Run, in.Epoch, domain.SplitVal)
		own.invite(ctx, plan, epoch.BesideEvaluation)
		if err := own.evaluate(ctx); err != nil {
			return sum, err
		}
	}

	p.Phase, p.Since, p.Child = PhaseCommit, workflow.Now(ctx), ""
	commit := long(on(ctx, QueueControl, "write epoch.json"))
	if err := workflow.ExecuteActivity(commit, control.Commit, done).Get(ctx, &sum); err != nil {
		return sum, err
	}

	return sum, showEpoch(ctx, in, plan, sum, hosts)
}

// showEpoch shows a committed epoch on its page and in lists. hosts are those of its updates.
func showEpoch(
	ctx workflow.Context, in EpochInput, plan epoch.Plan, sum epoch.Summary, hosts string,
) error {
	details := fmt.Sprintf("topology %s; rollouts %.1f %%, %d pairs; updates on %s",
		plan.Topology, 100*sum.Rollouts, sum.Pairs, hosts)
	if sum.Val < 0 { // not evaluated at this epoch
		workflow.SetCurrentDetails(ctx, details)

		return nil
	}
	if details = fmt.Sprintf("%s, val %.1f %%", details, 100*sum.Val); sum.Kept != "" {
		details += "; the policies before its updates are kept: " + sum.Kept
	}
	workflow.SetCurrentDetails(ctx, details)

	return workflow.UpsertTypedSearchAttributes(ctx,
		attrRate.ValueSet(sum.Val), attrSystem.ValueSet(rules.TrainedName(in.Plan.Agents)))
}

// beginEpoch plans an epoch and prepares what its labels need. An early one waits for its turn if it cannot begin
// before.
func beginEpoch(ctx workflow.Context, own *shards) (plan epoch.Plan, err error) {
	in := own.in
	if err := workflow.UpsertTypedSearchAttributes(ctx,
		attrRun.ValueSet(in.Run), attrStage.ValueSet(StageEpoch),
		attrEpoch.ValueSet(int64(in.Epoch)), attrEnvironment.ValueSet(in.Plan.Environment)); err != nil {
		return plan, err
	}

	if in.Behind > 0 {
		plan, err = planEpoch(ctx, in, control.PlanAhead)
		if err != nil {
			return plan, err
		}
		if plan.Slots > 0 && (in.AllPlayed || !plan.Learns) {
			return plan, learn(ctx, in, plan)
		}
		if err := own.turn(ctx); err != nil || own.behind > 0 {
			return plan, err
		}
	}
	if plan, err = planEpoch(ctx, in, control.PlanEpoch); err != nil {
		return plan, err
	}

	return plan, learn(ctx, in, plan)
}

// planEpoch plans an epoch by one of two activities.
func planEpoch(ctx workflow.Context, in EpochInput, by any) (plan epoch.Plan, err error) {
	draw := on(ctx, QueueControl, "draw topology and slots")
	id := activities.EpochID{Run: in.Run, Epoch: in.Epoch, Changes: in.Plan.Changes}
	if err := workflow.ExecuteActivity(long(draw), by, id).Get(ctx, &plan); err != nil {
		return plan, err
	}
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("topology %s, %d slots", plan.Topology, plan.Slots))

	return plan, nil
}

// learn prepares what the labels of an epoch need.
func learn(ctx workflow.Context, in EpochInput, plan epoch.Plan) error {
	if !plan.Learns {
		return nil
	}
	fit := on(ctx, QueueModel, "learn how likely episodes are to succeed")
	id := activities.EpochID{Run: in.Run, Epoch: in.Epoch}

	return workflow.ExecuteActivity(fit, models.FitValue, id).Get(ctx, nil)
}

// askAPerson returns why only a person can let an epoch go on, and how: too many slots failed, or models refused too
// many prompts. It is empty if nobody need be asked.
func askAPerson(in EpochInput, plan epoch.Plan, t Tally) string {
	switch share := in.Plan.FailedShare; {
	case plan.Accepted:
		return ""
	case float64(t.Failed) > share*float64(plan.Slots):
		return fmt.Sprintf("%d of %d slots of epoch %d failed, more than failed_share allows; the first is %s. "+
			"Play them again with `collabui resume %s --retry-failed`, or go on without them with "+
			"`collabui resume %[5]s --accept-failed --why TEXT`",
			t.Failed, plan.Slots, in.Epoch, t.Why, in.Run)
	case float64(t.RefusedCells) > share*float64(t.Cells), float64(t.RefusedGrades) > share*float64(t.Graded):
		return fmt.Sprintf("models refused %d of %d prompts of agents, and the critic refused %d of %d steps or "+
			"gave them no score that can be read, in epoch %d: more than failed_share allows. Examples are in %s. "+
			"Change the critic of the epochs that follow with `collabui set %s critic.model=NAME`, and continue "+
			"without what is missing with `collabui resume %[7]s --accept-failed --why TEXT`",
			t.RefusedCells, t.Cells, t.RefusedGrades, t.Graded, in.Epoch, t.WhyRefused, in.Run)
	}

	return ""
}

// updates trains all agents concurrently and returns the hosts that did it. With shared parameters the first agent's
// update is everyone's, so the others follow it.
func updates(ctx workflow.Context, in EpochInput, p *Progress) (string, error) {
	hosts := make([]string, in.Plan.Agents)
	wg := workflow.NewWaitGroup(ctx)
	var first error
	for a := range in.Plan.Agents {
		if in.Plan.Shared && a == 1 {
			wg.Wait(ctx)
			if first != nil {
				return "", first
			}
		}

		uctx := on(ctx, QueueGPU, fmt.Sprintf("agent %d: preference optimisation", a))
		f := workflow.ExecuteActivity(uctx, gpu.Update, update.AgentID{Run: in.Run, Epoch: in.Epoch, Agent: a})
		wg.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer wg.Done()
			var u update.Updated
			if err := f.Get(ctx, &u); err != nil && first == nil {
				first = err
			}
			hosts[a] = u.Host
			p.Updates++
		})
	}
	wg.Wait(ctx)
	slices.Sort(hosts)

	return strings.Join(slices.Compact(hosts), ", "), first
}

// evaluate evaluates the trained system on val.
func (x *shards) evaluate(ctx workflow.Context) error {
	in := x.in
	systems, err := systems(ctx, evaluate.SystemsID{Run: in.Run, Epoch: in.Epoch})
	if err == nil {
		err = x.free(ctx)
	}
	if err != nil {
		return err
	}
	val := rules.Split{Name: domain.SplitVal, Episodes: in.Plan.Val}
	items := []rules.EvalItem{val.Item(in.Run, rules.EpochFolder(in.Epoch), systems[0])}
	summary := fmt.Sprintf("evaluation of epoch %d on val", in.Epoch)
	cctx := child(ctx, evalID(in.Run, in.Epoch, domain.SplitVal), summary)

	x.val = workflow.ExecuteChildWorkflow(cctx, Evaluation, items)
	err = ended(ctx, x.val.Get(ctx, nil))
	x.val = nil

	return err
}

// systems returns what can be evaluated at an epoch.
func systems(ctx workflow.Context, id evaluate.SystemsID) ([]rules.EvalSystem, error) {
	var out []rules.EvalSystem
	err := workflow.ExecuteActivity(on(ctx, QueueControl, "systems to evaluate"), control.Systems, id).Get(ctx, &out)

	return out, err
}
