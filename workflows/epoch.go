package workflows

import (
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
)

// EpochInput is one epoch of a run.
type EpochInput struct {
	Run   string
	Epoch int
	Plan  activities.Plan
}

// Window is the number of episodes of a shard that are open concurrently. Real concurrency is bounded by the workers; a
// pause takes effect within a window.
const Window = 32

// oldWindow is the window of shards that older versions began.
const oldWindow = 16

// Epoch is one epoch: topology, slots, n updates concurrently, publish, evaluation when due, commit.
func Epoch(ctx workflow.Context, in EpochInput) (activities.EpochSummary, error) {
	var sum activities.EpochSummary
	p := Progress{Phase: PhaseRollouts, Slots: in.Plan.Slots, Agents: in.Plan.Agents, Since: workflow.Now(ctx)}
	if err := workflow.SetQueryHandler(ctx, QueryProgress, func() (Progress, error) { return p, nil }); err != nil {
		return sum, err
	}
	id := activities.EpochID{Run: in.Run, Epoch: in.Epoch}
	plan, err := beginEpoch(ctx, in)
	if err != nil {
		return sum, err
	}

	var open shards
	whole, err := open.play(ctx, in, plan.Slots, &p)
	if err != nil {
		return sum, err
	}
	if open.drained && whole.Done < plan.Slots {
		return activities.EpochSummary{Val: -1}, nil
	}
	if why := askAPerson(in, plan, whole); why != "" {
		return sum, temporal.NewNonRetryableApplicationError(why, string(fault.Invalid), nil)
	}

	p.Phase, p.Since = PhaseUpdates, workflow.Now(ctx)
	hosts, err := updates(ctx, in, &p)
	if err != nil {
		return sum, err
	}
	load := on(ctx, QueueGPU, "load the new policies")
	if err := workflow.ExecuteActivity(load, gpu.Publish, id).Get(ctx, nil); err != nil {
		return sum, err
	}

	if in.Epoch%in.Plan.EvalEvery == 0 || in.Epoch == in.Plan.Epochs {
		p.Phase, p.Since = PhaseEvaluation, workflow.Now(ctx)
		p.Child = evalID(in.Run, in.Epoch, domain.SplitVal)
		if err := evaluateEpoch(ctx, in); err != nil {
			return sum, err
		}
	}

	p.Phase, p.Since, p.Child = PhaseCommit, workflow.Now(ctx), ""
	commit := long(on(ctx, QueueControl, "write epoch.json"))
	if err := workflow.ExecuteActivity(commit, control.Commit, id).Get(ctx, &sum); err != nil {
		return sum, err
	}

	details := fmt.Sprintf("topology %s; rollouts %.1f %%, %d pairs; updates on %s",
		plan.Topology, 100*sum.Rollouts, sum.Pairs, hosts)
	if sum.Val < 0 { // not evaluated at this epoch
		workflow.SetCurrentDetails(ctx, details)

		return sum, nil
	}
	if details = fmt.Sprintf("%s, val %.1f %%", details, 100*sum.Val); sum.Kept != "" {
		details += "; the policies that rolled out are kept: " + sum.Kept
	}
	workflow.SetCurrentDetails(ctx, details)

	return sum, workflow.UpsertTypedSearchAttributes(ctx,
		attrRate.ValueSet(sum.Val), attrSystem.ValueSet(rules.TrainedName(in.Plan.Agents)))
}

// beginEpoch plans an epoch and prepares what its labels need.
func beginEpoch(ctx workflow.Context, in EpochInput) (plan activities.EpochPlan, err error) {
	if err := workflow.UpsertTypedSearchAttributes(ctx,
		attrRun.ValueSet(in.Run), attrStage.ValueSet(StageEpoch),
		attrEpoch.ValueSet(int64(in.Epoch)), attrEnvironment.ValueSet(in.Plan.Environment)); err != nil {
		return plan, err
	}
	id := activities.EpochID{Run: in.Run, Epoch: in.Epoch}
	draw := on(ctx, QueueControl, "draw topology and slots")
	if err := workflow.ExecuteActivity(draw, control.PlanEpoch, id).Get(ctx, &plan); err != nil {
		return plan, err
	}
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("topology %s, %d slots", plan.Topology, plan.Slots))
	if !plan.Learns {
		return plan, nil
	}
	fit := on(ctx, QueueModel, "learn how likely episodes are to succeed")

	return plan, workflow.ExecuteActivity(fit, models.FitValue, id).Get(ctx, nil)
}

// askAPerson returns why only a person can let an epoch go on, and how: too many slots failed, or models refused too
// many prompts. It is empty if nobody need be asked.
func askAPerson(in EpochInput, plan activities.EpochPlan, t Tally) string {
	switch share := in.Plan.FailedShare; {
	case plan.Accepted:
		return ""
	case float64(t.Failed) > share*float64(plan.Slots):
		return fmt.Sprintf("%d of %d slots of epoch %d failed, more than failed_share allows; the first is %s. "+
			"Play them again with `collabui resume %s --retry-failed`, or go on without them with "+
			"`collabui resume %[5]s --accept-failed --why TEXT`",
			t.Failed, plan.Slots, in.Epoch, t.Why, in.Run)
	case float64(t.RefusedCells) > share*float64(t.Cells), float64(t.RefusedGrades) > share*float64(t.Graded):
		return fmt.Sprintf("models refused %d of %d prompts of agents and %d of %d of the critic in epoch %d, "+
			"more than failed_share allows; the first is in %s: its steps and credit say why. "+
			"Go on without them with `collabui resume %s --accept-failed --why TEXT`",
			t.RefusedCells, t.Cells, t.RefusedGrades, t.Graded, in.Epoch, t.WhyRefused, in.Run)
	}

	return ""
}

// OpenShards is the number of shards of an epoch that are open concurrently. What is open is in the memory of the
// workers and of Temporal.
const OpenShards = 4

// oldOpenShards is OpenShards of epochs that older versions began.
const oldOpenShards = 16

// shards are those of an epoch.
type shards struct {
	started []workflow.ChildWorkflowFuture
	paused  bool
	window  int  // of each; 0: Window
	drained bool // somebody stopped the run: no episode begins any more
}

// play runs the episodes in shards, some of them concurrently, and passes a pause on to them.
func (x *shards) play(ctx workflow.Context, in EpochInput, slots int, p *Progress) (Tally, error) {
	workflow.Go(ctx, func(ctx workflow.Context) { x.passOn(ctx, p) })
	x.window = in.Plan.Window
	parent := epochID(in.Run, in.Epoch)
	most := OpenShards
	if slots > OpenShards*rules.ShardSize { // histories of smaller epochs are the same
		switch workflow.GetVersion(ctx, "bounded shards", workflow.DefaultVersion, 2) {
		case workflow.DefaultVersion:
			most = slots
		case 1:
			most = oldOpenShards
		}
	}

	for from := 1; from <= slots; from += rules.ShardSize {
		ready := func() bool { return x.open() < most && !x.paused || x.drained || x.failed(ctx) }
		if err := workflow.Await(ctx, ready); err != nil {
			return Tally{}, err
		}
		if x.drained || x.failed(ctx) {
			break
		}
		s := ShardInput{
			Run: in.Run, Epoch: in.Epoch, From: from, To: min(from+rules.ShardSize-1, slots), Parent: parent,
			Window: x.window, View: in.Plan.View,
		}
		cctx := child(ctx, fmt.Sprintf("%s/shard/%04d", parent, from), fmt.Sprintf("slots %d to %d", s.From, s.To))
		x.started = append(x.started, workflow.ExecuteChildWorkflow(cctx, Shard, s))
	}

	var whole Tally
	for _, f := range x.started {
		var t Tally
		if err := f.Get(ctx, &t); err != nil {
			return whole, err
		}
		whole.add(t)
	}
	p.Done, p.Successes, p.Failed, p.Pairs = whole.Done, whole.Successes, whole.Failed, whole.Pairs

	return whole, nil
}

// open returns the number of shards that have not ended.
func (x *shards) open() int {
	n := 0
	for _, f := range x.started {
		if !f.IsReady() {
			n++
		}
	}

	return n
}

// failed reports whether a shard has failed.
func (x *shards) failed(ctx workflow.Context) bool {
	return slices.ContainsFunc(x.started, func(f workflow.ChildWorkflowFuture) bool {
		return f.IsReady() && f.Get(ctx, nil) != nil
	})
}

// signal sends a signal to the open shards.
func (x *shards) signal(ctx workflow.Context, name string, value any) {
	for _, f := range x.started {
		if !f.IsReady() {
			// A shard that has just ended needs no signal.
			_ = f.SignalChildWorkflow(ctx, name, value).Get(ctx, nil)
		}
	}
}

// passOn passes pauses and stops on to the open shards and counts the tallies that they send.
func (x *shards) passOn(ctx workflow.Context, p *Progress) {
	for ctx.Err() == nil {
		s := workflow.NewSelector(ctx)
		s.AddReceive(workflow.GetSignalChannel(ctx, signalPause), func(c workflow.ReceiveChannel, _ bool) {
			c.Receive(ctx, &x.paused)
			x.signal(ctx, signalPause, x.paused)
		})
		s.AddReceive(workflow.GetSignalChannel(ctx, signalWindow), func(c workflow.ReceiveChannel, _ bool) {
			c.Receive(ctx, &x.window)
			x.signal(ctx, signalWindow, x.window)
		})
		s.AddReceive(workflow.GetSignalChannel(ctx, signalDrain), func(c workflow.ReceiveChannel, _ bool) {
			c.Receive(ctx, &x.drained)
			x.signal(ctx, signalDrain, true)
		})
		s.AddReceive(workflow.GetSignalChannel(ctx, signalTally), func(c workflow.ReceiveChannel, _ bool) {
			var t Tally
			c.Receive(ctx, &t)
			if x.open() > 0 { // a tally that comes later is part of the results already
				p.add(t)
			}
		})
		s.Select(ctx)
	}
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
		}

		uctx := on(ctx, QueueGPU, fmt.Sprintf("agent %d: preference optimisation", a))
		f := workflow.ExecuteActivity(uctx, gpu.Update, activities.AgentID{Run: in.Run, Epoch: in.Epoch, Agent: a})
		wg.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer wg.Done()
			var u activities.Updated
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

// evaluateEpoch evaluates the trained system on val.
func evaluateEpoch(ctx workflow.Context, in EpochInput) error {
	systems, err := systems(ctx, activities.SystemsID{Run: in.Run, Epoch: in.Epoch})
	if err != nil {
		return err
	}
	val := rules.Split{Name: domain.SplitVal, Episodes: in.Plan.Val}
	items := []rules.EvalItem{val.Item(in.Run, rules.EpochFolder(in.Epoch), systems[0])}
	summary := fmt.Sprintf("evaluation of epoch %d on val", in.Epoch)
	cctx := child(ctx, evalID(in.Run, in.Epoch, domain.SplitVal), summary)

	return workflow.ExecuteChildWorkflow(cctx, Evaluation, items).Get(ctx, nil)
}

// systems returns what can be evaluated at an epoch.
func systems(ctx workflow.Context, id activities.SystemsID) ([]rules.EvalSystem, error) {
	var out []rules.EvalSystem
	err := workflow.ExecuteActivity(on(ctx, QueueControl, "systems to evaluate"), control.Systems, id).Get(ctx, &out)

	return out, err
}
