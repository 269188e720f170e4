package activities

import (
	"context"
	"slices"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/runs"
)

// own is what an activity needs to tell records of its run from those of another run that had, or has, its name. An
// activity has it from its beginning, because it may continue after its run was deleted.
type own struct {
	runs.By
	also []string // the tags of records that a fork has copied
}

// own returns what identifies the records of a run that has begun.
func (c *Common) own(ctx context.Context, run string) (own, error) {
	v, err := c.versions(ctx, run)
	if err != nil {
		return own{}, err
	}
	v.mu.Lock()
	known := v.own
	v.mu.Unlock()
	if known.Tag != "" {
		return known, nil
	}
	by, err := runs.Run(run).By(ctx, c.Bucket)
	if err != nil {
		return own{}, fault.As(fault.Transient, err) // it is about to begin
	}
	known = own{By: by}
	if v.shared != nil {
		known.also = v.shared.Copied
	}
	v.mu.Lock()
	v.own = known
	v.mu.Unlock()

	return known, nil
}

// check returns the error of having recorded, or read, an object, and otherwise a corrupt fault if another run of the
// name has written it.
func (o own) check(key string, by runs.By, err error) error {
	if err != nil || by == o.By || slices.Contains(o.also, by.Tag) {
		return err
	}

	return fault.New(fault.Corrupt, "%s was written by another run of this name, which was deleted while one of its "+
		"activities continued: delete this object, then resume the run, which makes it again", key)
}
