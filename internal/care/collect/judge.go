package collect

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// judge determines which runs are dead, and which trainings and runs have ended, from the objects that show it.
func (c *collector) judge(ctx context.Context) error {
	for _, name := range sorted(c.runs) {
		if err := c.judgeRun(ctx, c.runs[name]); err != nil {
			return err
		}
	}
	if err := c.spare(ctx); err != nil {
		return err
	}
	if err := c.share(ctx); err != nil {
		return err
	}

	return c.endings(ctx)
}

// judgeRun determines whether a run is dead. Either someone deleted it: the mark is there, and older than the grace
// period. Or a fork or a copy was never finished: its specification has been missing for more than a grace period, in
// two collections, and it has no young object, such as the signs of a process that writes it.
func (c *collector) judgeRun(ctx context.Context, r *run) error {
	x := runs.Run(r.name)
	if _, ok := c.objects[x.Deleted().Key]; ok {
		at, err := c.b.Written(ctx, x.Deleted().Key)
		if errors.Is(err, store.ErrNotFound) { // someone has taken it back meanwhile
			return nil
		}
		r.deleted = err == nil && c.aged(at)
		r.dead = r.deleted
		if err == nil && !r.deleted {
			c.report.Waiting = append(c.report.Waiting, Waiting{r.name, len(r.keys), at.Add(c.p.Grace).UTC()})
		}

		return err
	}
	if _, ok := c.objects[x.Spec().Key]; ok {
		return nil
	}
	if exists, err := c.leftOut(ctx, x.Spec().Key); err != nil || exists {
		return err
	}
	if slices.ContainsFunc(r.keys, func(key string) bool { return !c.old(key) }) {
		return nil
	}

	since, known := c.before.Unfinished[r.name]
	if !known {
		since = c.now
	}
	if c.after.Unfinished == nil {
		c.after.Unfinished = map[string]time.Time{}
	}
	c.after.Unfinished[r.name] = since
	c.report.Unfinished = append(c.report.Unfinished, r.name)
	r.dead = known && c.aged(since)

	return nil
}

// isStillDead reports, immediately before objects of a dead run are removed, whether the run is still dead.
func (c *collector) isStillDead(ctx context.Context, r *run) (bool, error) {
	x := runs.Run(r.name)
	if r.deleted {
		return x.Deleted().Exists(ctx, c.b)
	}
	if exists, err := x.Spec().Exists(ctx, c.b); err != nil || exists {
		return false, err
	}
	all, err := c.b.Ages(ctx, x.Prefix())

	return !slices.ContainsFunc(all, func(aged store.Aged) bool { return !c.aged(aged.Written) }), err
}

// spare keeps dead runs of which a fork is being made: the fork still copies from them.
func (c *collector) spare(ctx context.Context) error {
	for _, name := range sorted(c.runs) {
		r := c.runs[name]
		x := runs.Run(r.name)
		if _, exists := c.objects[x.Spec().Key]; exists || r.dead {
			continue
		}
		origin, _, err := x.Origin().Sure(ctx, c.b)
		if err != nil {
			return err
		}
		if from := c.runs[origin.Run]; from != nil {
			from.dead = false
		}
	}

	return nil
}

// Patterns of keys, which show to which part of a run an object belongs.
var (
	epochOf    = regexp.MustCompile(`^runs/[^/]+/epochs/(\d+)/`)
	policies   = regexp.MustCompile(`/(agents/\d+/(update|imitation)|epoch|slots)\.json$`)
	checkpoint = regexp.MustCompile(
		`^(runs/[^/]+/)(finetune|epochs/\d+)/.*-checkpoint-(\d+|result(-\d+)?|memory-\d+)\.json$`)
)

// endings reads the objects that show that a training, or a run, has ended.
func (c *collector) endings(ctx context.Context) error {
	c.ended = map[string]bool{}
	for _, key := range c.order {
		end := c.endOf(key)
		if _, known := c.ended[end]; known || end == "" {
			continue
		}
		_, err := c.b.Get(ctx, end)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		c.ended[end] = err == nil
	}

	return nil
}

// endOf returns the key of the record that shows that an object is no longer needed, if the object is old enough: the
// end of training for a checkpoint, and the end of the run for a recorded call.
func (c *collector) endOf(key string) string {
	r := c.runs[runs.NameOf(key)]
	if r == nil {
		return ""
	}
	if parts := checkpoint.FindStringSubmatch(key); parts != nil && c.old(key) {
		if parts[2] == "finetune" {
			return parts[1] + "base.json"
		}

		return parts[1] + parts[2] + "/epoch.json"
	}
	x := runs.Run(r.name)
	if c.p.Calls > 0 && strings.HasPrefix(key, x.CallsPrefix()) && c.now.Sub(c.objects[key].Written) > c.p.Calls {
		return x.End().Key
	}

	return ""
}

// removable reports whether a manifest is not kept for its own sake: it belongs to a dead run, was recorded by a
// trainer whose training has ended, or is an old call of a run that has ended, or an old mark.
func (c *collector) removable(key string) bool {
	r := c.runs[runs.NameOf(key)]
	if r == nil {
		return false
	}

	return r.dead || runs.IsMark(key) && c.old(key) || c.ended[c.endOf(key)]
}

// isRemoved reports whether this collection removes a manifest.
func (c *collector) isRemoved(key string) bool {
	if !c.removable(key) {
		return false
	}
	if r := c.runs[runs.NameOf(key)]; r.dead && slices.Contains(last(r), key) {
		return !c.needed(r)
	}

	return !c.kept[key]
}

// last are the objects of a dead run that are removed in this order after all others.
func last(r *run) []string {
	x := runs.Run(r.name)

	return []string{x.Origin().Key, x.Spec().Key, x.Deleted().Key}
}

// needed reports whether something else refers to an object of a dead run.
func (c *collector) needed(r *run) bool {
	return slices.ContainsFunc(r.keys, func(key string) bool {
		return c.kept[key] && !slices.Contains(last(r), key)
	})
}
