package workflows

import (
	"cmp"
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/internal/method/rules"
)

// OpenShards is the number of shards of an epoch that are open concurrently, unless the specification wants more
// episodes open than they have. What is open is in the memory of the workers and of Temporal.
const OpenShards = 4

// sizeOf returns how many episodes of a shard are open concurrently, by the window of a specification.
func sizeOf(window int) int { return min(cmp.Or(window, Window), rules.ShardSize) }

// openShards returns how many shards of an epoch are open concurrently, by the window of a specification: OpenShards
// windows of episodes fit into them.
func openShards(window int) int {
	return (OpenShards*cmp.Or(window, Window) + sizeOf(window) - 1) / sizeOf(window)
}

// shards are those of an epoch's rollouts, and what people, and the run, want of them.
type shards struct {
	in      EpochInput
	p       *Progress
	started []workflow.ChildWorkflowFuture
	paused  bool
	drained bool                         // no episode begins any more
	sure    bool                         // all episodes are played, and no person has to decide about them
	behind  int                          // open epochs before this one
	window  int                          // of the specification; 0: Window
	val     workflow.ChildWorkflowFuture // the evaluation, while it is open
}

// start starts the shards, some of them concurrently, and returns when the last one has begun.
func (x *shards) start(ctx workflow.Context, slots int) error {
	for from := 1; from <= slots; from += rules.ShardSize {
		ready := func() bool { return x.open() < openShards(x.window) && !x.paused || x.drained || x.failed(ctx) }
		if err := workflow.Await(ctx, ready); err != nil {
			return err
		}
		if x.drained || x.failed(ctx) {
			break
		}
		s := ShardInput{
			Run: x.in.Run, Epoch: x.in.Epoch, From: from, To: min(from+rules.ShardSize-1, slots),
			Window: x.window, View: x.in.Plan.View,
		}
		id := fmt.Sprintf("%s/shard/%04d", epochID(x.in.Run, x.in.Epoch), from)
		cctx := child(ctx, id, fmt.Sprintf("slots %d to %d", s.From, s.To))
		x.started = append(x.started, workflow.ExecuteChildWorkflow(cctx, Shard, s))
		x.p.Shards = append(x.p.Shards, id)
	}

	return nil
}

// wait returns what became of all episodes.
func (x *shards) wait(ctx workflow.Context) (whole Tally, err error) {
	for _, f := range x.started {
		var t Tally
		if err := ended(ctx, f.Get(ctx, &t)); err != nil {
			return whole, err
		}
		whole.add(t)
		x.p.add(t)
		x.p.Shards = x.p.Shards[1:]
	}

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

// free waits until the run is not held, or no episode may begin any more.
func (x *shards) free(ctx workflow.Context) error {
	return workflow.Await(ctx, func() bool { return !x.paused || x.drained })
}

// turn waits until the epoch before is committed, or no episode may begin any more.
func (x *shards) turn(ctx workflow.Context) error {
	return workflow.Await(ctx, func() bool { return x.behind == 0 || x.drained })
}

// drain lets the open episodes end, and no other begin.
func (x *shards) drain(ctx workflow.Context) {
	x.drained = true
	x.signal(ctx, signalDrain, true)
}

// passOn passes on to the open shards what people, and the run, want of them.
func (x *shards) passOn(ctx workflow.Context) {
	for ctx.Err() == nil {
		s := workflow.NewSelector(ctx)
		s.AddReceive(workflow.GetSignalChannel(ctx, signalPause), func(from workflow.ReceiveChannel, _ bool) {
			from.Receive(ctx, &x.paused)
			x.signal(ctx, signalPause, x.paused)
			if x.val != nil {
				// One that has just ended needs no signal.
				_ = x.val.SignalChildWorkflow(ctx, signalPause, x.paused).Get(ctx, nil)
			}
		})
		s.AddReceive(workflow.GetSignalChannel(ctx, signalWindow), func(from workflow.ReceiveChannel, _ bool) {
			from.Receive(ctx, &x.window)
			x.signal(ctx, signalWindow, x.window)
		})
		s.AddReceive(workflow.GetSignalChannel(ctx, signalTurn), func(from workflow.ReceiveChannel, _ bool) {
			var t Turn
			from.Receive(ctx, &t)
			x.behind, x.in.Plan = t.Behind, t.Plan // values may have changed
			if t.Behind == 0 && x.p.Phase == PhaseAhead {
				x.p.Phase = PhaseRollouts
			}
		})
		s.AddReceive(workflow.GetSignalChannel(ctx, signalDrain), func(from workflow.ReceiveChannel, _ bool) {
			from.Receive(ctx, nil)
			x.drain(ctx)
		})
		s.Select(ctx)
	}
}
