package status

import (
	"context"
	"time"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
)

// Attend waits for a workflow and calls look every second. If the context ends, it reports that and returns
// errDetached.
func Attend(ctx context.Context, session *app.Session, awaited app.Awaited, look func(*Progress)) error {
	progress := NewProgress(session.App, awaited.GetID())
	end := make(chan error, 1)
	go func() { end <- app.Wait(ctx, awaited) }()
	for {
		select {
		case err := <-end:
			progress.Clear()
			if gone := session.LostServices(ctx); err != nil && gone != nil {
				return gone
			}
			if err != nil && ctx.Err() != nil {
				if !session.JSON {
					terminal.Line(session.Out, "detached; it continues, and the same command shows it again")
				}

				return app.ErrDetached
			}

			return app.EndError(err)
		case <-time.After(time.Second):
			look(progress)
		}
	}
}
