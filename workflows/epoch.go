package workflows

import (
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
)

// EpochInput is one epoch of a run.
type EpochInput struct {
	Run   string
	Epoch int
	Plan  activities.Plan
}

// Progress answers the query "progress" of epochs, stage 1 and evaluations.
type Progress struct {
	Phase     string `json:"phase"` // rollouts, updates, evaluation, commit; of stage 1 demonstrations, SFT
	Slots     int    `json:"slots"` // episodes in all
	Done      int    `json:"done"`
	Successes int    `json:"successes"`
	Failed    int    `json:"failed"`
	Pairs     int    `json:"pairs"`
	Updates   int    `json:"updates"`
	Agents    int    `json:"agents"`
	Steps     int    `json:"steps,omitempty"` // optimiser steps of stage 1
	Child     string `json:"child,omitempty"` // the evaluation under way, which knows more
}

// ShardSize is the number of episodes of one shard: a workflow's history and its pending children stay bounded whatever the epoch's size.
const ShardSize = 200

// Window is the number of episodes of a shard that are open at once. Real concurrency is bounded by the workers' slots; a pause takes effect within a window.
const Window = 16

// Epoch is one epoch: topology, slots, n updates side by side, publish, evaluation when due, commit.
func Epoch(ctx workflow.Context, in EpochInput) (activities.EpochSummary, error) {
	p := Progress{Phase: "rollouts", Slots: in.Plan.Slots, Agents: in.Plan.Agents}
	var sum activities.EpochSummary
	if err := workflow.SetQueryHandler(ctx, QueryProgress, func() (Progress, error) { return p, nil }); err != nil {
		return sum, err
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, attrRun.ValueSet(in.Run), attrStage.ValueSet("epoch"), attrEpoch.ValueSet(int64(in.Epoch)), attrEnvironment.ValueSet(in.Plan.Environment)); err != nil {
		return sum, err
	}
	id := activities.EpochID{Run: in.Run, Epoch: in.Epoch}
	var plan activities.EpochPlan
	if err := workflow.ExecuteActivity(on(ctx, QueueControl, "draw topology and slots"), control.PlanEpoch, id).Get(ctx, &plan); err != nil {
		return sum, err
	}
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("topology %s, %d slots", plan.Topology, plan.Slots))
	if err := shards(ctx, in, plan.Slots, &p); err != nil {
		return sum, err
	}
	if limit := in.Plan.FailedShare * float64(plan.Slots); float64(p.Failed) > limit {
		return sum, temporal.NewNonRetryableApplicationError(fmt.Sprintf("%d of %d slots of epoch %d failed, more than failed_share allows", p.Failed, plan.Slots, in.Epoch), "invalid", nil)
	}
	p.Phase = "updates"
	hosts, err := updates(ctx, in, &p)
	if err != nil {
		return sum, err
	}
	if err := workflow.ExecuteActivity(on(ctx, QueueGPU, "load the new policies"), gpu.Publish, id).Get(ctx, nil); err != nil {
		return sum, err
	}
	if in.Epoch%in.Plan.EvalEvery == 0 || in.Epoch == in.Plan.Epochs {
		p.Phase = "evaluation"
		p.Child = evalID(in.Run, in.Epoch, domain.SplitVal)
		if err := evaluateEpoch(ctx, in); err != nil {
			return sum, err
		}
	}
	p.Phase, p.Child = "commit", ""
	if err := workflow.ExecuteActivity(long(on(ctx, QueueControl, "write epoch.json")), control.Commit, id).Get(ctx, &sum); err != nil {
		return sum, err
	}
	details := fmt.Sprintf("topology %s; rollouts %.1f %%, %d pairs; updates on %s", plan.Topology, 100*sum.Rollouts, sum.Pairs, hosts)
	if sum.Val < 0 { // not evaluated at this epoch
		workflow.SetCurrentDetails(ctx, details)
		return sum, nil
	}
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("%s, val %.1f %%", details, 100*sum.Val))
	return sum, workflow.UpsertTypedSearchAttributes(ctx, attrRate.ValueSet(sum.Val), attrSystem.ValueSet(rules.TrainedName(in.Plan.Agents)))
}

// shards runs the episodes in shards, all at once, and passes a pause on to them.
func shards(ctx workflow.Context, in EpochInput, slots int, p *Progress) error {
	var open []workflow.ChildWorkflowFuture
	for from := 1; from <= slots; from += ShardSize {
		s := ShardInput{Run: in.Run, Epoch: in.Epoch, From: from, To: min(from+ShardSize-1, slots), Parent: epochID(in.Run, in.Epoch)}
		open = append(open, workflow.ExecuteChildWorkflow(child(ctx, fmt.Sprintf("%s/shard/%04d", epochID(in.Run, in.Epoch), from), fmt.Sprintf("slots %d to %d", s.From, s.To)), Shard, s))
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		for ctx.Err() == nil {
			sel := workflow.NewSelector(ctx)
			sel.AddReceive(workflow.GetSignalChannel(ctx, signalPause), func(c workflow.ReceiveChannel, _ bool) {
				var on bool
				c.Receive(ctx, &on)
				for _, f := range open {
					if !f.IsReady() {
						_ = f.SignalChildWorkflow(ctx, signalPause, on).Get(ctx, nil) // a shard that has just ended needs no signal
					}
				}
			})
			sel.AddReceive(workflow.GetSignalChannel(ctx, signalTally), func(c workflow.ReceiveChannel, _ bool) {
				var t Tally
				c.Receive(ctx, &t)
				p.add(t)
			})
			sel.Select(ctx)
		}
	})
	var whole Tally
	for _, f := range open {
		var t Tally
		if err := f.Get(ctx, &t); err != nil {
			return err
		}
		whole.Done, whole.Successes, whole.Failed, whole.Pairs = whole.Done+t.Done, whole.Successes+t.Successes, whole.Failed+t.Failed, whole.Pairs+t.Pairs
	}
	p.Done, p.Successes, p.Failed, p.Pairs = whole.Done, whole.Successes, whole.Failed, whole.Pairs
	return nil
}

func (p *Progress) add(t Tally) {
	p.Done, p.Successes, p.Failed, p.Pairs = p.Done+t.Done, p.Successes+t.Successes, p.Failed+t.Failed, p.Pairs+t.Pairs
}

// updates trains all agents side by side, and says on which hosts. With shared parameters the first agent's update is everyone's, so the others follow it.
func updates(ctx workflow.Context, in EpochInput, p *Progress) (string, error) {
	hosts := make([]string, in.Plan.Agents)
	wg := workflow.NewWaitGroup(ctx)
	var first error
	for a := range in.Plan.Agents {
		if in.Plan.Shared && a == 1 {
			wg.Wait(ctx)
		}
		f := workflow.ExecuteActivity(on(ctx, QueueGPU, fmt.Sprintf("agent %d: preference optimisation", a)), gpu.Update, activities.AgentID{Run: in.Run, Epoch: in.Epoch, Agent: a})
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

func evaluateEpoch(ctx workflow.Context, in EpochInput) error {
	var systems []rules.EvalSystem
	if err := workflow.ExecuteActivity(on(ctx, QueueControl, "systems to evaluate"), control.Systems, activities.SystemsID{Run: in.Run, Epoch: in.Epoch}).Get(ctx, &systems); err != nil {
		return err
	}
	items := []rules.EvalItem{{Run: in.Run, Folder: rules.EpochFolder(in.Epoch), System: systems[0], Split: domain.SplitVal, Episodes: in.Plan.Val}}
	return workflow.ExecuteChildWorkflow(child(ctx, evalID(in.Run, in.Epoch, domain.SplitVal), fmt.Sprintf("evaluation of epoch %d on val", in.Epoch)), Evaluation, items).Get(ctx, nil)
}
