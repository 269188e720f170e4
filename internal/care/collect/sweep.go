package collect

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// sweep removes the objects that were not marked. Blobs are removed before the manifests that explain their removal.
func (c *collector) sweep(ctx context.Context) error {
	if err := c.summarise(ctx); err != nil {
		return err
	}
	if err := c.retire(ctx); err != nil {
		return err
	}
	for key, aged := range c.objects {
		if store.IsBlob(key) && !c.kept[key] && !c.old(key) {
			c.report.Young.add(aged.Size)
		}
	}
	if err := c.move(ctx, c.unmarked(), always, &c.report.Trashed); err != nil {
		return err
	}
	var loose []string
	for _, key := range c.order {
		if r := c.runs[runs.NameOf(key)]; !store.IsBlob(key) && r != nil && !r.dead && c.isRemoved(key) {
			loose = append(loose, key)
		}
	}
	if err := c.move(ctx, loose, always, &c.report.Removed); err != nil {
		return err
	}
	for _, name := range sorted(c.runs) {
		if r := c.runs[name]; r.dead {
			if err := c.bury(ctx, r); err != nil {
				return err
			}
		}
	}

	return c.empty(ctx)
}

// bury removes the objects of a dead run. The objects that make it a run, and a dead one, are removed when nothing else
// is left.
func (c *collector) bury(ctx context.Context, r *run) error {
	isStillDead := func(ctx context.Context) (bool, error) { return c.isStillDead(ctx, r) }
	var keys []string
	for _, key := range r.keys {
		if !slices.Contains(last(r), key) && c.isRemoved(key) {
			keys = append(keys, key)
		}
	}
	if err := c.move(ctx, keys, isStillDead, &c.report.Removed); err != nil {
		return err
	}
	if c.needed(r) {
		c.report.Needed = append(c.report.Needed, r.name)

		return nil
	}
	if c.lock != nil {
		left, err := store.Keys(ctx, c.b, runs.Run(r.name).Prefix())
		if err != nil || slices.ContainsFunc(left, func(key string) bool { return !slices.Contains(last(r), key) }) {
			return err // someone continues to write it, or the first LIST did not show everything
		}
	}
	for _, key := range last(r) {
		if err := c.move(ctx, []string{key}, isStillDead, &c.report.Removed); err != nil {
			return err
		}
	}
	c.report.Runs = append(c.report.Runs, r.name)

	return nil
}

func always(context.Context) (bool, error) { return true, nil }

// batch is the number of objects that are removed in one turn of the lock.
const batch = 64

// move moves objects to the trash: each batch is copied, and then deleted in a turn of the lock if permitted returns
// true.
func (c *collector) move(
	ctx context.Context, keys []string, permitted func(context.Context) (bool, error), tally *Tally,
) error {
	for part := range slices.Chunk(keys, batch) {
		if c.lock == nil {
			for _, key := range part {
				if aged, listed := c.objects[key]; listed {
					tally.add(aged.Size)
				}
			}

			continue
		}
		copied, err := c.copy(ctx, part)
		if err != nil {
			return err
		}
		allowed := true
		err = c.lock.Turn(ctx, func(ctx context.Context) error {
			if allowed, err = permitted(ctx); err != nil || !allowed {
				return err
			}

			return c.delete(ctx, copied)
		})
		if err != nil || !allowed {
			return err
		}
		for _, key := range copied {
			tally.add(c.objects[key].Size)
		}
	}

	return nil
}

// copy copies objects into the trash and returns the objects that existed.
func (c *collector) copy(ctx context.Context, keys []string) (copied []string, err error) {
	var mu sync.Mutex
	err = each(ctx, keys, func(ctx context.Context, key string) error {
		err := c.b.Copy(ctx, key, store.TrashKey(key, c.lock.Number))
		if errors.Is(err, store.ErrNotFound) {
			_, err = c.b.Written(ctx, key)
			if errors.Is(err, store.ErrNotFound) {
				return nil
			}
			if err == nil {
				err = notCopied(key)
			}
		}
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		copied = append(copied, key)

		return nil
	})

	return copied, err
}

// delete deletes objects.
func (c *collector) delete(ctx context.Context, keys []string) error {
	return each(ctx, keys, c.b.Delete)
}

// each calls do for each of some keys, concurrently.
func each(ctx context.Context, keys []string, do func(ctx context.Context, key string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, key := range keys {
		group.Go(func() error { return do(ctx, key) })
	}

	return group.Wait()
}

// summarise records the cost of the calls that are removed.
func (c *collector) summarise(ctx context.Context) error {
	if c.lock == nil || c.p.Calls == 0 {
		return nil
	}
	for _, name := range sorted(c.runs) {
		r := c.runs[name]
		x := runs.Run(name)
		some := slices.ContainsFunc(r.keys, func(key string) bool {
			return strings.HasPrefix(key, x.CallsPrefix()) && c.removable(key)
		})
		if r.dead || !some {
			continue
		}
		spent := func() (runs.Spent, error) { return x.Spent(ctx, c.b) }
		if _, _, err := x.Summary().Record(ctx, c.b, spent); err != nil {
			return err
		}
	}

	return nil
}

// unmarked returns the blobs that are old enough and that nothing keeps.
func (c *collector) unmarked() (out []string) {
	for _, key := range c.order {
		if store.IsBlob(key) && !c.kept[key] && c.old(key) {
			out = append(out, key)
		}
	}

	return out
}

// retire records, before blobs are removed, which of them records continue to name.
func (c *collector) retire(ctx context.Context) error {
	retirement := runs.Retirement{Who: c.p.Who, Why: c.p.String(), At: c.now.UTC()}
	for _, key := range c.unmarked() {
		if c.named[key] {
			retirement.Blobs = append(retirement.Blobs, strings.TrimPrefix(key, store.BlobPrefix))
		}
	}
	if c.lock == nil || len(retirement.Blobs) == 0 {
		return nil
	}
	_, _, err := runs.RetirementAt(c.now).Record(ctx, c.b, func() (runs.Retirement, error) { return retirement, nil })

	return err
}
