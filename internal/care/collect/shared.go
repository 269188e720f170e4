package collect

import (
	"context"
	"errors"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// share reads which runs each run shares objects with. Those are needed as long as the run is, and therefore not dead
// either. It runs after spare, which may have found that a run is not dead.
func (c *collector) share(ctx context.Context) error {
	for _, name := range sorted(c.runs) {
		r := c.runs[name]
		if r.dead {
			continue
		}
		var err error
		r.shared, err = runs.Run(r.name).Shared(ctx, c.b)
		if errors.Is(err, store.ErrNotFound) {
			if _, listed := c.objects[runs.Run(r.name).Spec().Key]; !listed {
				continue // it is not finished
			}
			err = fault.New(fault.Transient,
				"%v, although a LIST of the store shows it: nothing was removed; begin again", err)
		}
		if err != nil {
			return err
		}
		if r.shared == nil {
			continue
		}
		for _, part := range r.shared.Parts { // all of them: they name no other runs than these
			if from := c.runs[string(part.Run)]; from != nil {
				from.dead = false
			}
		}
	}

	return nil
}

// keepShared keeps the policies of shared epochs that forks need. A fork that has ended needs the policies that it
// keeps; one that has not ended begins with its last shared epoch and, if policies lag, the one before.
func (c *collector) keepShared() {
	for _, name := range sorted(c.runs) {
		r := c.runs[name]
		if r.dead || r.shared == nil {
			continue
		}
		needed := r.keep
		if !r.ended {
			last := r.shared.Last()
			needed = map[int]bool{last: true, last - 1: true}
		}
		for epoch := range needed {
			name, shared := r.shared.Owner(epoch)
			if owner := c.runs[string(name)]; shared && owner != nil && owner.keep != nil {
				owner.keep[epoch] = true
			}
		}
	}
}
