package status

import (
	"context"
	"time"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
)

// Attend waits for a workflow and calls look every second. If the context ends, it reports that and returns
// errDetached.
func Attend(ctx context.Context, s *app.Session, w app.Awaited, look func(*Progress)) error {
	p := NewProgress(s.App, w.GetID())
	end := make(chan error, 1)
	go func() { end <- app.Wait(ctx, w) }()
	for {
		select {
		case err := <-end:
			p.Clear()
			if gone := s.LostServices(ctx); err != nil && gone != nil {
				return gone
			}
			if err != nil && ctx.Err() != nil {
				if !s.JSON {
					terminal.Line(s.Out, "detached; it continues, and the same command shows it again")
				}

				return app.ErrDetached
			}

			return app.EndError(err)
		case <-time.After(time.Second):
			look(p)
		}
	}
}
