package collect

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

func notCopied(key string) error {
	return fault.New(fault.Transient, "%s is there, but cannot be copied into the trash: begin again", key)
}

// empty restores objects in the trash that something still refers to. It removes for good the copies that were old at
// the previous collection and that neither collection found referenced.
func (c *collector) empty(ctx context.Context) error {
	var gone []store.Aged
	for _, key := range sorted(c.trashed) {
		copies := c.trashed[key]
		_, exists := c.objects[key]
		if c.kept[key] && !exists {
			newest := copies[len(copies)-1]
			c.report.Restored.add(newest.Size)
			if c.lock == nil {
				continue
			}
			if err := bringBack(ctx, c.b, key, newest.Key); err != nil {
				return err
			}

			continue
		}
		for _, aged := range copies {
			if c.before.At.Sub(aged.Written) > c.p.Grace && c.aged(aged.Written) {
				gone = append(gone, aged)
			}
		}
	}

	return c.free(ctx, gone)
}

// free removes copies from the trash that have not changed since the store was listed.
func (c *collector) free(ctx context.Context, gone []store.Aged) error {
	if c.lock != nil && len(gone) > 0 {
		written := make(map[string]time.Time, len(gone))
		for _, aged := range gone {
			written[aged.Key] = aged.Written
		}
		fresh, err := c.b.Ages(ctx, store.TrashPrefix)
		if err != nil {
			return err
		}
		same := make(map[string]bool, len(fresh))
		for _, o := range fresh {
			same[o.Key] = o.Written.Equal(written[o.Key])
		}
		gone = slices.DeleteFunc(gone, func(o store.Aged) bool { return !same[o.Key] })
	}
	for part := range slices.Chunk(gone, batch) {
		var keys []string
		for _, o := range part {
			keys = append(keys, o.Key)
		}
		if c.lock != nil {
			remove := func(ctx context.Context) error { return c.delete(ctx, keys) }
			if err := c.lock.Turn(ctx, remove); err != nil {
				return err
			}
		}
		for _, o := range part {
			c.report.Freed.add(o.Size)
		}
	}

	return nil
}

// bringBack restores an object from the trash to its place. If a blob is there by now, it has the same bytes. If a
// manifest is there, it stays.
func bringBack(ctx context.Context, keeper store.Keeper, key, from string) error {
	if store.IsBlob(key) {
		err := keeper.Copy(ctx, from, key)
		if errors.Is(err, store.ErrNotFound) {
			err = fault.New(fault.Transient, "%s: %v, although a LIST of the store shows it: begin again", from, err)
		}

		return err
	}
	raw, err := keeper.Get(ctx, from)
	if err == nil {
		_, err = keeper.PutOnce(ctx, key, raw)
	}

	return err
}
