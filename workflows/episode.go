package workflows

import (
	"cmp"
	"fmt"

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
}

// signalTally is the signal that reports a shard's progress to the epoch. It is sent every tallyEvery episodes, so that
// progress costs few events.
const (
	signalTally = "tally"
	tallyEvery  = 20
)

// Shard runs the episodes of a range, a window of them concurrently.
func Shard(ctx workflow.Context, in ShardInput) (Tally, error) {
	var whole, fresh Tally
	var first error
	paused, drained, open, window := false, false, 0, Window
	if workflow.GetVersion(ctx, "wide window", workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		window = oldWindow
	}
	window = cmp.Or(in.Window, window)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for workflow.GetSignalChannel(ctx, signalPause).Receive(ctx, &paused) {
		}
	})
	workflow.Go(ctx, func(ctx workflow.Context) {
		for n := 0; workflow.GetSignalChannel(ctx, signalWindow).Receive(ctx, &n); {
			window = cmp.Or(n, Window)
		}
	})
	workflow.Go(ctx, func(ctx workflow.Context) {
		workflow.GetSignalChannel(ctx, signalDrain).Receive(ctx, &drained)
	})

	for slot := in.From; slot <= in.To; slot++ {
		next := func() bool { return open < window && !paused || drained || first != nil }
		if err := workflow.Await(ctx, next); err != nil {
			return whole, err
		}
		if drained || first != nil {
			break
		}

		open++
		id := activities.SlotID{Run: in.Run, Epoch: in.Epoch, Slot: slot}
		name := fmt.Sprintf("%s/episode/%04d", in.Parent, slot)
		summary := fmt.Sprintf("epoch %d, slot %d", in.Epoch, slot)
		f := workflow.ExecuteChildWorkflow(child(ctx, name, summary), Episode, id)
		workflow.Go(ctx, func(ctx workflow.Context) {
			var t Tally
			err := f.Get(ctx, &t)
			open--
			if err != nil && first == nil {
				first = err
			}
			if err != nil {
				return
			}

			whole.add(t)
			if fresh.add(t); fresh.Done >= tallyEvery {
				send := fresh
				fresh = Tally{}
				// A lost signal delays progress only: the result counts.
				_ = workflow.SignalExternalWorkflow(ctx, in.Parent, "", signalTally, send).Get(ctx, nil)
			}
		})
	}
	if err := workflow.Await(ctx, func() bool { return open == 0 }); err != nil {
		return whole, err
	}

	return whole, first
}

// Episode is one slot: rollout, then credit, then pairing. The critic works on one episode while the next is rolled
// out.
func Episode(ctx workflow.Context, id activities.SlotID) (Tally, error) {
	var p activities.Played
	err := workflow.ExecuteActivity(on(ctx, QueueRollout, "rollout"), rollout.Rollout, id).Get(ctx, &p)
	if err != nil {
		return Tally{}, err
	}
	told := details(p)
	workflow.SetCurrentDetails(ctx, told)
	if p.Brief != "" && !p.Success { // activities of older versions return no brief
		if err := failed(ctx, id); err != nil {
			return Tally{}, err
		}
	}

	t := Tally{Done: 1, Cells: p.Cells, RefusedCells: p.Refused, Graded: p.Steps}
	if p.Success {
		t.Successes = 1
	}
	if p.Failed != "" {
		t.Failed, t.Why = 1, fmt.Sprintf("slot %d: %s", id.Slot, p.Failed)

		return t, nil
	}

	var c activities.Credited
	if err := workflow.ExecuteActivity(on(ctx, QueueModel, "credit"), models.Credit, id).Get(ctx, &c); err != nil {
		return t, err
	}
	if t.RefusedGrades = c.Refused; t.RefusedCells+t.RefusedGrades > 0 {
		t.WhyRefused = fmt.Sprintf("slot %d", id.Slot)
	}
	told += fmt.Sprintf("\n\nlabels: %d right, %d wrong, %d uncertain", c.Positive, c.Negative, c.Uncertain)
	workflow.SetCurrentDetails(ctx, told)
	err = workflow.ExecuteActivity(on(ctx, QueueModel, "pairing"), models.Pairing, id).Get(ctx, &t.Pairs)
	if err == nil {
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("%s; %d pairs", told, t.Pairs))
	}

	return t, err
}

// failed lets lists of workflows find an episode that did not succeed. Those that did cost no event.
func failed(ctx workflow.Context, id activities.SlotID) error {
	return workflow.UpsertTypedSearchAttributes(ctx, attrRun.ValueSet(id.Run), attrEpoch.ValueSet(int64(id.Epoch)),
		attrRate.ValueSet(0))
}

// details returns what the page of an episode shows, as Markdown.
func details(p activities.Played) string {
	outcome := "**failed**"
	if p.Success {
		outcome = "**success**"
	}
	page := ""
	if p.Page != "" { // activities of older versions return none
		page = fmt.Sprintf("[see the episode](%s)\n\n", p.Page)
	}
	if p.Failed != "" {
		return page + "**no episode**: " + plain(p.Failed)
	}

	return fmt.Sprintf("%s%s after %d steps, attempt %d, on %s\n\n%s", page, outcome, p.Steps, p.Attempt, p.Host,
		code(p.Brief))
}
