package collect

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// sweep removes what was not marked.
func (c *collector) sweep(ctx context.Context) error {
	if err := c.summarise(ctx); err != nil {
		return err
	}
	for _, key := range c.order {
		r := c.runs[runs.NameOf(key)]
		if store.IsBlob(key) || !c.removable(key) || c.kept[key] || r.dead && slices.Contains(last(r), key) {
			continue
		}
		if err := c.remove(ctx, key, &c.report.Removed); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.runs)) {
		r := c.runs[name]
		if !r.dead || c.needed(r) {
			continue
		}
		for _, key := range last(r) {
			if _, ok := c.objects[key]; !ok {
				continue
			}
			if err := c.remove(ctx, key, &c.report.Removed); err != nil {
				return err
			}
		}
		c.report.Runs = append(c.report.Runs, name)
	}
	if err := c.retire(ctx); err != nil {
		return err
	}
	if err := c.discard(ctx); err != nil {
		return err
	}

	return c.empty(ctx)
}

// remove deletes an object.
func (c *collector) remove(ctx context.Context, key string, t *Tally) error {
	t.add(c.objects[key].Size)
	if c.dry {
		return nil
	}

	return c.b.Delete(ctx, key)
}

// summarise records what the calls took that are removed.
func (c *collector) summarise(ctx context.Context) error {
	if c.dry || c.p.Calls == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.runs)) {
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

// unmarked returns the blobs that nothing keeps and that are old enough.
func (c *collector) unmarked() (out []string) {
	for _, key := range c.order {
		if store.IsBlob(key) && !c.kept[key] && c.old(key) {
			out = append(out, key)
		}
	}

	return out
}

// retire records, before they are removed, the blobs that records go on to name.
func (c *collector) retire(ctx context.Context) error {
	x := runs.Retirement{Who: c.p.Who, Why: c.p.String(), At: c.now.UTC()}
	for _, key := range c.unmarked() {
		if c.named[key] {
			x.Blobs = append(x.Blobs, strings.TrimPrefix(key, store.BlobPrefix))
		}
	}
	if c.dry || len(x.Blobs) == 0 {
		return nil
	}
	_, _, err := runs.RetirementAt(c.now).Record(ctx, c.b, func() (runs.Retirement, error) { return x, nil })

	return err
}

// discard moves blobs into the trash. Whoever refers to one since the store was looked at gets it back when it is read.
func (c *collector) discard(ctx context.Context) error {
	for _, key := range c.unmarked() {
		c.report.Trashed.add(c.objects[key].Size)
		if c.dry {
			continue
		}
		if err := c.b.Copy(ctx, key, store.TrashPrefix+key); err != nil {
			return err
		}
		if err := c.b.Delete(ctx, key); err != nil {
			return err
		}
	}

	return nil
}

// empty removes blobs from the trash for good that were there for the grace period before the store was looked at, and
// gives those back that something refers to.
func (c *collector) empty(ctx context.Context) error {
	for _, key := range slices.Sorted(maps.Keys(c.trashed)) {
		o := c.trashed[key]
		_, there := c.objects[key]
		switch {
		case c.kept[key] && !there:
			c.report.Restored.add(o.Size)
			if c.dry {
				continue
			}
			if err := c.b.Copy(ctx, o.Key, key); err != nil {
				return err
			}
		case c.kept[key]: // a copy of what is in its place
			if c.dry {
				continue
			}
		case !there && c.now.Sub(o.Written) > c.p.Grace:
			c.report.Freed.add(o.Size)
			if c.dry {
				continue
			}
		default:
			continue
		}
		if err := c.b.Delete(ctx, o.Key); err != nil {
			return err
		}
	}

	return nil
}
