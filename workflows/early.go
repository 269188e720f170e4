package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"
)

// Next is the signal by which an epoch tells its run that the next one may begin.
type Next struct {
	Epoch     int  // the one that begins
	AllPlayed bool // all episodes of the one before are played
}

// early is an epoch that began beside the one before. That saves time only: until its turn, what becomes of it is not
// looked at.
type early struct {
	epoch  int
	child  workflow.ChildWorkflowFuture
	cancel workflow.CancelFunc
}

// beginEarly begins epochs beside those before them when these say that they may. It ends with the workflow.
func (r *runState) beginEarly(ctx workflow.Context) {
	for ctx.Err() == nil {
		var may Next
		workflow.GetSignalChannel(ctx, signalNext).Receive(ctx, &may)
		waits := func() bool { return r.next != nil && r.next.epoch == may.Epoch-1 } // it said so early
		now := func() bool { return r.next == nil && r.child != nil && r.status.Epoch == may.Epoch-1 }
		known := func() bool { return !waits() && (!now() || !r.status.Held) || r.stops() }
		if workflow.Await(ctx, known) != nil {
			return
		}
		if !now() || r.stops() || may.Epoch > r.plan.Epochs || r.long(ctx) {
			continue
		}
		in := EpochInput{Run: r.in.Name, Epoch: may.Epoch, Plan: r.plan, Early: true, AllPlayed: may.AllPlayed}
		own, cancel := workflow.WithCancel(ctx)
		own = child(own, epochID(in.Run, in.Epoch), r.summary(in.Epoch))
		r.next = &early{epoch: in.Epoch, cancel: cancel, child: workflow.ExecuteChildWorkflow(own, Epoch, in)}
		r.status.Next = epochID(in.Run, in.Epoch)
		r.describe(ctx)
	}
}

// long reports whether it is time to continue as new: the history is long, or another build of the workers is current.
func (r *runState) long(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)

	return info.GetContinueAsNewSuggested() || info.GetTargetWorkerDeploymentVersionChanged()
}

// summary returns the summary of an epoch's workflow.
func (r *runState) summary(epoch int) string {
	return fmt.Sprintf("epoch %d of %d: %d slots", epoch, r.plan.Epochs, r.plan.Slots)
}

// begun returns an epoch that began early, whose turn it is now. It is nil if there is none, or if it has ended: then
// it is begun again, and finds out why.
func (r *runState) begun(ctx workflow.Context, epoch int) workflow.ChildWorkflowFuture {
	e := r.next
	if e == nil || e.epoch != epoch {
		return nil
	}
	err := e.child.SignalChildWorkflow(ctx, signalTurn, r.plan).Get(ctx, nil)
	r.next, r.status.Next = nil, ""
	if err != nil {
		return nil
	}
	cancel := r.cancel
	r.cancel = func() {
		cancel()
		e.cancel()
	}

	return e.child
}

// giveUp lets the open episodes of an epoch that began early end, and waits for it.
func (r *runState) giveUp(ctx workflow.Context) {
	if r.next == nil {
		return
	}
	// It needs no signal if it has just ended, and what it says is not looked at.
	_ = r.next.child.SignalChildWorkflow(ctx, signalDrain, true).Get(ctx, nil)
	_ = r.next.child.Get(ctx, nil)
	r.next, r.status.Next = nil, ""
}
