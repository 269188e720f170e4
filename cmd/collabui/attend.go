package main

import (
	"context"
	"time"

	"github.com/collabui/collabui/cmd/collabui/terminal"
)

// attend waits for a workflow and calls look every second. If the context ends, it reports that and returns
// errDetached.
func (s *session) attend(ctx context.Context, w awaited, look func(*progress)) error {
	p := newProgress(s.app, w.GetID())
	end := make(chan error, 1)
	go func() { end <- wait(ctx, w) }()
	for {
		select {
		case err := <-end:
			p.Clear()
			if gone := s.gone(ctx); err != nil && gone != nil {
				return gone
			}
			if err != nil && ctx.Err() != nil {
				if !s.json {
					terminal.Line(s.out, "detached; it continues, and the same command shows it again")
				}

				return errDetached
			}

			return endedWith(err)
		case <-time.After(time.Second):
			look(p)
		}
	}
}
