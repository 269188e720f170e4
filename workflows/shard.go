package workflows

import (
	"cmp"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
)

// ShardInput is a range of an epoch's slots.
type ShardInput struct {
	Run    string
	Epoch  int
	From   int
	To     int // inclusive
	Parent string
	Window int `json:",omitempty"` // episodes that are open concurrently; 0: Window

	Behind int `json:",omitempty"` // open epochs before this one, whose episodes go first; signalTurn changes it

	View string `json:",omitempty"` // address of the viewer, if there is one
}

// signalTally is the signal that reports a shard's progress to the epoch. It is sent every tallyEvery episodes, so that
// progress costs few events.
const (
	signalTally = "tally"
	tallyEvery  = 20
)

// Shard runs the episodes of a range, a window of them concurrently. An episode is two activities, so that many of them
// cost Temporal little; the shard's page has a line for each.
func Shard(ctx workflow.Context, in ShardInput) (Tally, error) {
	var fresh Tally
	var first error
	tallies := make([]Tally, in.To-in.From+1)
	page := shardPage{in: in, wants: shardWants{window: cmp.Or(in.Window, Window)}}
	open, wants := 0, &page.wants
	wants.listen(ctx, &page.in)

	for slot := in.From; slot <= in.To; slot++ {
		next := func() bool { return open < wants.window && !wants.paused || wants.drained || first != nil }
		if err := workflow.Await(ctx, next); err != nil {
			return Tally{}, err
		}
		if wants.drained || first != nil {
			break
		}

		open++
		id := activities.SlotID{Run: in.Run, Epoch: in.Epoch, Slot: slot}
		workflow.Go(ctx, func(ctx workflow.Context) {
			t, err := page.episode(ctx, id)
			open--
			if err != nil && first == nil {
				first = err
			}
			if err != nil {
				return
			}

			tallies[id.Slot-in.From] = t
			if fresh.add(t); fresh.Done >= tallyEvery {
				send := fresh
				fresh = Tally{}
				// A lost signal delays progress only: the result counts.
				_ = workflow.SignalExternalWorkflow(ctx, in.Parent, "", signalTally, send).Get(ctx, nil)
			}
		})
	}
	if err := workflow.Await(ctx, func() bool { return open == 0 }); err != nil || first != nil {
		return Tally{}, cmp.Or(first, err)
	}
	var whole Tally
	for _, t := range tallies { // by slot, whatever ended first
		whole.add(t)
	}

	return whole, page.end(ctx, whole)
}

// shardWants is what people, and the run, want of a shard.
type shardWants struct {
	paused, drained bool
	window          int
}

// listen receives signals about a shard.
func (w *shardWants) listen(ctx workflow.Context, in *ShardInput) {
	workflow.Go(ctx, func(ctx workflow.Context) {
		for workflow.GetSignalChannel(ctx, signalPause).Receive(ctx, &w.paused) {
		}
	})
	workflow.Go(ctx, func(ctx workflow.Context) {
		for n := 0; workflow.GetSignalChannel(ctx, signalWindow).Receive(ctx, &n); {
			w.window = cmp.Or(n, Window)
		}
	})
	workflow.Go(ctx, func(ctx workflow.Context) {
		workflow.GetSignalChannel(ctx, signalDrain).Receive(ctx, &w.drained)
	})
	workflow.Go(ctx, func(ctx workflow.Context) {
		for workflow.GetSignalChannel(ctx, signalTurn).Receive(ctx, &in.Behind) {
		}
	})
}
