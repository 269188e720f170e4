package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities/epoch"
	"github.com/collabui/collabui/activities/lifecycle"
)

// Next is the signal by which an epoch tells its run that a later one may begin.
type Next struct {
	From      int  // the epoch that says so
	Epoch     int  // the one that may begin
	AllPlayed bool // all episodes of the one before that are played
}

// Turn is the signal by which a run tells an early epoch how many of those before it are open. With none, it is its
// turn.
type Turn struct {
	Behind int
	Plan   lifecycle.Plan
}

// invite tells the run which epoch may begin beside a part of this one, if any may. If labels need all episodes of this
// one, it waits until no person can let any of them be played again. If policies may lag, the next epoch has begun by
// the time of the evaluation: then the one after it may begin.
func (x *shards) invite(ctx workflow.Context, plan epoch.Plan, part epoch.Beside) {
	run := workflow.GetInfo(ctx).ParentWorkflowExecution
	after := part == epoch.BesideEvaluation && plan.Known && plan.Next == epoch.BesideUpdates
	if run == nil || x.drained || plan.Next != part && !after {
		return
	}
	may := Next{From: x.in.Epoch, Epoch: x.in.Epoch + 1}
	if after {
		may.Epoch++
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		if plan.Learns && workflow.Await(ctx, func() bool { return x.sure }) != nil {
			return
		}
		may.AllPlayed = x.sure && !after
		// A lost signal costs time only.
		_ = workflow.SignalExternalWorkflow(ctx, run.ID, "", signalNext, may).Get(ctx, nil)
	})
}

// early is an epoch that began beside those before it. That saves time only: until its turn, what becomes of it is not
// looked at.
type early struct {
	epoch  int
	child  workflow.ChildWorkflowFuture
	cancel workflow.CancelFunc
}

// beginEarly begins epochs beside those before them when these say that they may. It ends with the workflow.
func (r *runState) beginEarly(ctx workflow.Context) {
	for {
		var may Next
		workflow.GetSignalChannel(ctx, signalNext).Receive(ctx, &may)
		if ctx.Err() != nil {
			return
		}
		workflow.Go(ctx, func(ctx workflow.Context) {
			waits := func() bool { return len(r.early) > 0 && may.From >= r.early[0].epoch } // it said so early
			now := func() bool {
				return r.child != nil && may.From == r.status.Epoch && may.Epoch == may.From+len(r.early)+1
			}
			known := func() bool { return !waits() && (!now() || !r.status.Held) || r.stops() }
			if workflow.Await(ctx, known) == nil && now() && !r.stops() {
				r.beginAfter(ctx, may)
			}
		})
	}
}

// beginAfter begins an epoch beside those before it, unless it is none of the run's or the run is to continue as new.
func (r *runState) beginAfter(ctx workflow.Context, may Next) {
	if may.Epoch > r.plan.Epochs || renews(ctx) {
		return
	}
	in := EpochInput{
		Run: r.in.Name, Epoch: may.Epoch, Plan: r.plan, Behind: len(r.early) + 1, AllPlayed: may.AllPlayed,
	}
	own, cancel := workflow.WithCancel(ctx)
	own = child(own, epochID(in.Run, in.Epoch), r.summary(in.Epoch))
	e := &early{epoch: in.Epoch, cancel: cancel, child: workflow.ExecuteChildWorkflow(own, Epoch, in)}
	r.keep(append(r.early, e))
	r.describe(ctx)
}

// keep keeps the epochs that are early.
func (r *runState) keep(all []*early) {
	if r.early, r.status.Next = all, ""; len(all) > 0 {
		r.status.Next = epochID(r.in.Name, all[0].epoch)
	}
}

// renews reports whether it is time to continue as new: the history is long, or another build of the workers is
// current.
func renews(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)

	return info.GetContinueAsNewSuggested() || info.GetTargetWorkerDeploymentVersionChanged()
}

// summary returns the summary of an epoch's workflow.
func (r *runState) summary(epoch int) string {
	return fmt.Sprintf("epoch %d of %d", epoch, r.plan.Epochs)
}

// begun returns an epoch that began early, whose turn it is now. It is nil if there is none, or if it has ended: then
// it is begun again, and finds out why.
func (r *runState) begun(ctx workflow.Context, epoch int) workflow.ChildWorkflowFuture {
	if len(r.early) == 0 || r.early[0].epoch != epoch {
		return nil
	}
	var own workflow.ChildWorkflowFuture
	for i, e := range r.early {
		err := e.child.SignalChildWorkflow(ctx, signalTurn, Turn{Behind: i, Plan: r.plan}).Get(ctx, nil)
		if i > 0 || err != nil { // what becomes of a later one is not looked at yet
			continue
		}
		cancel := r.cancel
		r.cancel = func() {
			cancel()
			e.cancel()
		}
		own = e.child
	}
	r.keep(r.early[1:])

	return own
}

// giveUp lets the open episodes of the epochs that began early end, and waits for them.
func (r *runState) giveUp(ctx workflow.Context) {
	for _, e := range r.early {
		// It needs no signal if it has just ended.
		_ = e.child.SignalChildWorkflow(ctx, signalDrain, true).Get(ctx, nil)
	}
	for _, e := range r.early {
		_ = e.child.Get(ctx, nil) // what it says is not looked at
	}
	r.keep(nil)
}
