package results

import (
	"context"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
)

// showEpisode prints an episode.
func showEpisode(ctx context.Context, a *app.App, bucket store.Bucket, run, place string) error {
	epoch, slot, err := app.ParsePlace("show RUN", place, 1)
	if err != nil {
		return fault.New(fault.Invalid, "%q is no part of run %s: expected EPOCH/SLOT, both from 1, such as 1/4, or "+
			"stage-1 or critic",
			place, run)
	}
	read, err := view.ReadEpisode(ctx, bucket, runs.Run(run), epoch, slot)
	if err != nil {
		return err
	}
	episode := storedEpisode{read}

	return a.Print(episode, episode.text)
}
