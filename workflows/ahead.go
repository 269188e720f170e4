package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
)

// ahead is what goes on beside an epoch: the next one, which the run begins. In an epoch that an older version began,
// it is the rollouts of the next one: what they do not come to is played by the next epoch, and if this epoch fails,
// all of it is looked at again.
type ahead struct {
	shards
	plan  activities.EpochPlan // of the present epoch
	sure  bool                 // its episodes are played, and nobody need be asked about them
	began bool
	ended bool
	whole *Tally // nil: not all episodes are played
}

// begin tells the run to begin the next epoch, if it is time and nobody wants the run to stop. p is the present
// epoch's.
func (a *ahead) begin(ctx workflow.Context, now activities.Beside, p *Progress) {
	after := now == activities.BesideEvaluation && a.plan.Known && a.plan.Next == activities.BesideUpdates
	if a.plan.Next != now && !after || a.drained {
		return
	}
	if v := workflow.GetVersion(ctx, "early epochs", workflow.DefaultVersion, 2); v != workflow.DefaultVersion {
		a.tell(ctx, now, v == 1)

		return
	}
	if after {
		return
	}
	a.began = true
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer func() { a.ended = true }()
		plan, err := planEpoch(ctx, a.in, control.PlanAhead)
		if err != nil || plan.Slots == 0 || a.drained {
			return // the next epoch finds out why
		}
		a.p = &Progress{Phase: PhaseAhead, Slots: plan.Slots, Agents: a.in.Plan.Agents, Since: workflow.Now(ctx)}
		p.Next = a.p
		if err := a.prepare(ctx, plan); err != nil {
			return
		}
		if err := a.start(ctx, plan.Slots); err != nil {
			return
		}
		if whole, err := a.wait(ctx); err == nil && whole.Done == plan.Slots {
			a.whole = &whole
		}
	})
}

// tell tells the run that the next epoch may begin. If labels need all episodes of this one, it waits until no person
// can let any of them be played again; older versions did not. If policies may lag, the next one has begun by the time
// of the evaluation: then the one after it may begin.
func (a *ahead) tell(ctx workflow.Context, now activities.Beside, old bool) {
	run := workflow.GetInfo(ctx).ParentWorkflowExecution
	if run == nil { // nobody to tell
		return
	}
	may := Next{From: a.in.Epoch - 1, Epoch: a.in.Epoch}
	if a.plan.Next != now {
		may.Epoch++
	}
	sure := func() bool { return a.sure || old && a.of.own.p == nil }
	workflow.Go(ctx, func(ctx workflow.Context) {
		if a.plan.Learns && workflow.Await(ctx, sure) != nil {
			return
		}
		may.AllPlayed = sure() && a.plan.Next == now
		// A lost signal costs time only.
		_ = workflow.SignalExternalWorkflow(ctx, run.ID, "", signalNext, may).Get(ctx, nil)
	})
}

// prepare prepares what labels need. A value is learnt from all episodes of the present epoch, too.
func (a *ahead) prepare(ctx workflow.Context, plan activities.EpochPlan) error {
	if !plan.Learns {
		return nil
	}
	if err := workflow.Await(ctx, func() bool { return a.of.own.p == nil }); err != nil {
		return err
	}

	return learn(ctx, a.in, plan)
}

// end waits for the episodes that have begun, and returns what became of all. It is nil if not all are played.
func (a *ahead) end(ctx workflow.Context, p *Progress) (*Tally, error) {
	if !a.began {
		return nil, nil
	}
	if p.Next != nil {
		*p = *p.Next
	}
	if a.p != nil {
		a.p = p
	}
	err := workflow.Await(ctx, func() bool { return a.ended })

	return a.whole, err
}

// giveUp lets what is open end, unless the epoch is cancelled: then it is, too.
func (a *ahead) giveUp(ctx workflow.Context) {
	if !a.began {
		return
	}
	still, _ := workflow.NewDisconnectedContext(ctx)
	a.drain(still)
	_ = workflow.Await(still, func() bool { return a.ended }) // it fails only if its context is cancelled
}
