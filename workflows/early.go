package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"
)

// earlyRollouts are the rollouts of an epoch that began beside the epochs before it. That saves time only: until its
// turn, what becomes of them is not looked at.
type earlyRollouts struct {
	epoch    int
	workflow workflow.ChildWorkflowFuture
}

// beginEarly begins the rollouts of an epoch beside those before it, unless they have begun, the run has no such epoch,
// or the run is held, stops, or is to continue as new.
func (r *runState) beginEarly(ctx workflow.Context, epoch int, allPlayed bool) {
	follows := epoch == r.status.Epoch+len(r.early)+1
	if !follows || epoch > r.plan.Epochs || r.status.Held || r.stops() || renews(ctx) {
		return
	}
	in := RolloutsInput{Run: r.in.Name, Epoch: epoch, Plan: r.plan, Early: true, AllPlayed: allPlayed}
	own := workflow.ExecuteChildWorkflow(child(ctx, epochID(in.Run, epoch), r.summary(epoch)), Rollouts, in)
	r.keep(append(r.early, &earlyRollouts{epoch: epoch, workflow: own}))
	r.describe(ctx)
}

// keep keeps the rollouts that are early.
func (r *runState) keep(all []*earlyRollouts) {
	r.early = all
	r.status.Next = ""
	if len(all) > 0 {
		r.status.Next = epochID(r.in.Name, all[0].epoch)
	}
}

// renews reports whether it is time to continue as new: the history is long, or another build of the workers is
// current.
func renews(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)

	return info.GetContinueAsNewSuggested() || info.GetTargetWorkerDeploymentVersionChanged()
}

// summary returns the summary of the workflow of an epoch's rollouts.
func (r *runState) summary(epoch int) string {
	return fmt.Sprintf("epoch %d of %d", epoch, r.plan.Epochs)
}

// takeEarly returns the rollouts of an epoch that began early, whose turn it is now. It returns nil if none began, or
// if they have failed: then they begin again, and find out why.
func (r *runState) takeEarly(ctx workflow.Context, epoch int) workflow.ChildWorkflowFuture {
	if len(r.early) == 0 || r.early[0].epoch != epoch {
		return nil
	}
	own := r.early[0].workflow
	r.keep(r.early[1:])
	if own.IsReady() && own.Get(ctx, nil) != nil {
		return nil
	}

	return own
}

// drainEarly lets the open episodes of early rollouts end, and no other begin.
func (r *runState) drainEarly(ctx workflow.Context) {
	for _, e := range r.early {
		// Rollouts that have just ended need no signal.
		_ = e.workflow.SignalChildWorkflow(ctx, signalDrain, true).Get(ctx, nil)
	}
}

// giveUp drains the early rollouts and waits for them.
func (r *runState) giveUp(ctx workflow.Context) {
	r.drainEarly(ctx)
	for _, e := range r.early {
		_ = e.workflow.Get(ctx, nil) // what became of them is not looked at
	}
	r.keep(nil)
}
