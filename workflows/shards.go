package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/internal/method/rules"
)

// OpenShards is the number of shards of an epoch that are open concurrently. What is open is in the memory of the
// workers and of Temporal.
const OpenShards = 4

// oldOpenShards is OpenShards of epochs that older versions began.
const oldOpenShards = 16

// shards are those of an epoch's rollouts.
type shards struct {
	in      EpochInput
	of      *commands
	p       *Progress // nil: tallies are not counted
	started []workflow.ChildWorkflowFuture
	drained bool // no episode begins any more
	behind  int  // open epochs before this one, whose episodes go first
}

// start starts the shards, some of them concurrently, and returns when the last one has begun.
func (x *shards) start(ctx workflow.Context, slots int) error {
	parent, most := workflow.GetInfo(ctx).WorkflowExecution.ID, OpenShards
	if slots > OpenShards*rules.ShardSize { // histories of smaller epochs are the same
		switch workflow.GetVersion(ctx, "bounded shards", workflow.DefaultVersion, 2) {
		case workflow.DefaultVersion:
			most = slots
		case 1:
			most = oldOpenShards
		}
	}

	for from := 1; from <= slots; from += rules.ShardSize {
		ready := func() bool { return x.open() < most && !x.of.paused || x.drained || x.failed(ctx) }
		if err := workflow.Await(ctx, ready); err != nil {
			return err
		}
		if x.drained || x.failed(ctx) {
			break
		}
		s := ShardInput{
			Run: x.in.Run, Epoch: x.in.Epoch, From: from, To: min(from+rules.ShardSize-1, slots), Parent: parent,
			Window: x.of.window, View: x.in.Plan.View, Behind: x.behind,
		}
		id := fmt.Sprintf("%s/shard/%04d", epochID(x.in.Run, x.in.Epoch), from)
		cctx := child(ctx, id, fmt.Sprintf("slots %d to %d", s.From, s.To))
		cctx = workflow.WithWaitForCancellation(cctx, x == x.of.next)
		x.started = append(x.started, workflow.ExecuteChildWorkflow(cctx, Shard, s))
	}

	return nil
}

// played returns what became of all episodes, which may have been played beside the epoch before.
func (x *shards) played(ctx workflow.Context) (Tally, error) {
	if x.in.Played == nil {
		return x.wait(ctx)
	}
	x.count(*x.in.Played)

	return *x.in.Played, nil
}

// wait returns what became of all episodes.
func (x *shards) wait(ctx workflow.Context) (whole Tally, err error) {
	for _, f := range x.started {
		var t Tally
		if err := f.Get(ctx, &t); err != nil {
			return whole, err
		}
		whole.add(t)
	}
	x.count(whole)

	return whole, nil
}

// count sets the progress to the result. Tallies that come later are part of it already.
func (x *shards) count(whole Tally) {
	p := x.p
	p.Done, p.Successes, p.Failed, p.Pairs = whole.Done, whole.Successes, whole.Failed, whole.Pairs
	x.p = nil
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

// turn waits until the epoch before is committed, or no episode may begin any more.
func (x *shards) turn(ctx workflow.Context) error {
	if x.behind == 0 { // histories of older versions have no such wait
		return nil
	}

	return workflow.Await(ctx, func() bool { return x.behind == 0 || x.drained })
}

// drain lets the open episodes end, and no other begin.
func (x *shards) drain(ctx workflow.Context) {
	x.drained = true
	x.signal(ctx, signalDrain, true)
}

// commands are what people want of the shards of an epoch, and of the next one's beside it, if an older version began
// it.
type commands struct {
	own, next *shards
	paused    bool
	window    int // of each shard; 0: Window
}

// passOn passes commands on to the open shards and counts the tallies that they send.
func (c *commands) passOn(ctx workflow.Context) {
	signal := func(name string, value any) {
		c.own.signal(ctx, name, value)
		c.next.signal(ctx, name, value)
	}
	for ctx.Err() == nil {
		s := workflow.NewSelector(ctx)
		s.AddReceive(workflow.GetSignalChannel(ctx, signalPause), func(from workflow.ReceiveChannel, _ bool) {
			from.Receive(ctx, &c.paused)
			signal(signalPause, c.paused)
		})
		s.AddReceive(workflow.GetSignalChannel(ctx, signalWindow), func(from workflow.ReceiveChannel, _ bool) {
			from.Receive(ctx, &c.window)
			signal(signalWindow, c.window)
		})
		s.AddReceive(workflow.GetSignalChannel(ctx, signalTurn), func(from workflow.ReceiveChannel, _ bool) {
			var t Turn
			from.Receive(ctx, &t)
			c.own.behind, c.own.in.Plan = t.Behind, t.Plan // values may have changed
			if c.own.p != nil && t.Behind == 0 {
				c.own.p.Phase = PhaseRollouts
			}
			c.own.signal(ctx, signalTurn, t.Behind)
		})
		s.AddReceive(workflow.GetSignalChannel(ctx, signalDrain), func(from workflow.ReceiveChannel, _ bool) {
			var on bool
			from.Receive(ctx, &on)
			c.own.drain(ctx)
			c.next.drain(ctx)
		})
		s.AddReceive(workflow.GetSignalChannel(ctx, signalLast), func(from workflow.ReceiveChannel, _ bool) {
			var on bool
			from.Receive(ctx, &on)
			c.next.drain(ctx)
		})
		s.AddReceive(workflow.GetSignalChannel(ctx, signalTally), func(from workflow.ReceiveChannel, _ bool) {
			var t Tally
			from.Receive(ctx, &t)
			x := c.own
			if t.Epoch == c.next.in.Epoch {
				x = c.next
			}
			if x.p != nil {
				x.p.add(t)
			}
		})
		s.Select(ctx)
	}
}
