package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
)

// playable plays training task i of stage 1 or, if it is at fault, a replacement that was drawn in advance.
func playable(s spec.Spec, suite envadapters.Suite, i int, play func(domain.Slot) error) error {
	var last error
	for replaced := range episode.MaxReplacements + 1 {
		slot, err := rules.Slot(s, suite, 0, i+1, replaced)
		if err != nil {
			return err
		}
		if last = play(slot); !errors.Is(last, envadapters.ErrTask) {
			return last
		}
	}

	return fmt.Errorf("%d tasks in a row were at fault, the last because %w", episode.MaxReplacements+1, last)
}

// playAll plays a batch of training tasks. Those that are at fault, with their replacements, are left out if they are
// no more than a share of the batch, or if a person accepted that. Until then every execution plays them again.
func (r *Rollouts) playAll(
	ctx context.Context, b Batch, share float64, play func(i int) error, leave func(i int, why string) error,
) error {
	var unplayed []int
	var why []error
	for i := b.From; i < b.To; i++ {
		err := play(i)
		switch {
		case errors.Is(err, envadapters.ErrTask):
			unplayed, why = append(unplayed, i), append(why, err)
		case err != nil:
			return err
		}
	}

	if float64(len(unplayed)) > share*float64(b.To-b.From) {
		accepted, err := runs.Run(b.Run).IsAccepted(ctx, r.Bucket, 0)
		if err != nil {
			return err
		}
		if !accepted {
			return fault.New(fault.Invalid, "%d of %d training tasks of stage 1 cannot be played, more than "+
				"failed_share allows; the first is task %d: %w. Mend the environment, then play them again with "+
				"`collabui resume %[5]s`, or go on without them with "+
				"`collabui resume %[5]s --accept-failed --why TEXT`",
				len(unplayed), b.To-b.From, unplayed[0], why[0], b.Run)
		}
	}
	for k, i := range unplayed {
		if err := leave(i, why[k].Error()); err != nil {
			return err
		}
	}

	return nil
}
