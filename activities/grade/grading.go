package grade

import (
	"context"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// grading is the grading of a slot's episode. It reads the episode once.
type grading struct {
	*Models
	activities.SlotID
	progress activities.Progress

	read       *Episode
	credits    *runs.Credits
	creditsRef store.Ref
}

// episode returns the episode of the slot.
func (g *grading) episode(ctx context.Context) (Episode, error) {
	if g.read != nil {
		return *g.read, nil
	}
	e, ref, err := runs.Run(g.Run).Episode(ctx, g.Bucket, g.Epoch, g.Slot)
	if err != nil {
		return Episode{}, err
	}
	recorded, err := e.ReadSteps(ctx, g.Bucket)
	out := Episode{ref: ref, Slot: e.Slot, Success: e.Outcome.Success}
	for _, step := range recorded {
		out.steps = append(out.steps, step.Step)
	}
	if err == nil {
		g.read = &out
	}

	return out, err
}

// check returns the error of having recorded what was made of an episode. Otherwise it returns a corrupt fault if
// that was not the episode of the slot.
func (g *grading) check(ctx context.Context, episode, record store.Ref, err error) error {
	if err != nil {
		return err
	}
	own := store.Ref{}
	if g.read != nil {
		own = g.read.ref
	} else {
		_, own, err = runs.Run(g.Run).Episode(ctx, g.Bucket, g.Epoch, g.Slot)
		if err != nil {
			return err
		}
	}
	if episode.Same(own) {
		return nil
	}

	return fault.New(fault.Corrupt, "%s was written by another run of this name, or of another episode than %s: "+
		"delete this object, then resume the run, which makes it again", record.Key, own.Key)
}
