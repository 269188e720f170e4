package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
)

// ShardInput is a range of an epoch's slots.
type ShardInput struct {
	Run    string
	Epoch  int
	From   int
	To     int // inclusive
	Window int `json:",omitempty"` // of the specification; 0: Window

	View string `json:",omitempty"` // address of the viewer, if there is one
}

// Shard runs the episodes of a range, a window of them concurrently. An episode is two activities, so that many of them
// cost Temporal little; the shard's page has a line for each.
func Shard(ctx workflow.Context, in ShardInput) (Tally, error) {
	tallies := make([]Tally, in.To-in.From+1)
	p := Progress{Phase: PhaseRollouts, Slots: len(tallies), Since: workflow.Now(ctx)}
	if err := workflow.SetQueryHandler(ctx, QueryProgress, func() (Progress, error) { return p, nil }); err != nil {
		return Tally{}, err
	}
	page := shardPage{in: in, window: window{size: sizeOf(in.Window)}}
	page.listen(ctx)

	err := page.window.each(ctx, len(tallies), func(ctx workflow.Context, i int) error {
		t, err := page.episode(ctx, activities.SlotID{Run: in.Run, Epoch: in.Epoch, Slot: in.From + i})
		if err != nil {
			return err
		}
		tallies[i] = t
		p.add(t)

		return nil
	})
	if err != nil {
		return Tally{}, err
	}
	var whole Tally
	for _, t := range tallies { // by slot, whatever ended first
		whole.add(t)
	}

	return whole, page.end(ctx, whole)
}

// listen receives what people, and the run, want of a shard.
func (x *shardPage) listen(ctx workflow.Context) {
	x.window.listen(ctx, func(workflow.Context) {})
	workflow.Go(ctx, func(ctx workflow.Context) {
		for n := 0; workflow.GetSignalChannel(ctx, signalWindow).Receive(ctx, &n); {
			x.window.size = sizeOf(n)
		}
	})
	workflow.Go(ctx, func(ctx workflow.Context) {
		workflow.GetSignalChannel(ctx, signalDrain).Receive(ctx, &x.window.drained)
	})
}
