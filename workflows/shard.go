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
	progress := Progress{Phase: PhaseRollouts, Slots: len(tallies), Since: workflow.Now(ctx)}
	if err := answerProgress(ctx, &progress); err != nil {
		return Tally{}, err
	}
	page := shardPage{in: in}
	open := window{size: sizeOf(in.Window), progress: &progress}
	open.follow(ctx, sizeOf)

	err := open.eachAgain(ctx, len(tallies), func(ctx workflow.Context, i int) error {
		tally, err := page.episode(ctx, activities.SlotID{Run: in.Run, Epoch: in.Epoch, Slot: in.From + i})
		if err != nil {
			return err
		}
		tallies[i] = tally
		progress.add(tally)

		return nil
	})
	if err != nil {
		return Tally{}, err
	}
	var whole Tally
	for _, tally := range tallies { // by slot, whichever ended first
		whole.add(tally)
	}

	return whole, page.end(ctx, whole)
}
