// Package collect removes from a store what nobody needs: deleted runs, blobs that nothing refers to, checkpoints of
// training that has ended, and what a policy of retention does not keep. It is safe beside runs, forks and copies that
// go on, and may be cut short at any moment.
//
// It imports fault, internal/store, internal/store/lines, internal/store/runs and internal/store/verify.
package collect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// Policy says what is kept.
type Policy struct {
	// Grace is how old an object must be that is removed, and how long blobs are in the trash before they are gone.
	// Whoever writes an object must refer to it within that time.
	Grace time.Duration
	// Epochs is the number of newest epochs of a run that has ended whose policies are kept, besides its best and those
	// that lines accept. 0 keeps all.
	Epochs int
	// Calls is how long recorded calls of a run that has ended are kept. 0 keeps all.
	Calls time.Duration
	Who   string
	// Force ignores somebody else who collects, and who has died.
	Force bool
}

// String returns the policy in a few words.
func (p Policy) String() string {
	return fmt.Sprintf("policies of the last %d epochs, calls for %v (0: all)", p.Epochs, p.Calls)
}

// Report says what was removed, or would be.
type Report struct {
	Objects  int   `json:"objects"` // in the store before, without the trash
	Bytes    int64 `json:"bytes"`
	Removed  Tally `json:"removed"`  // manifests of deleted runs, checkpoints, recorded calls
	Trashed  Tally `json:"trashed"`  // blobs that went into the trash; they are removed after the grace period
	Freed    Tally `json:"freed"`    // blobs that left the trash for good
	Restored Tally `json:"restored"` // blobs that came back from the trash, because something refers to them

	Runs []string `json:"runs"` // deleted runs of which nothing is left
}

// Tally counts objects.
type Tally struct {
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

func (t *Tally) add(size int64) { t.Objects, t.Bytes = t.Objects+1, t.Bytes+size }

// lock is held by whoever collects.
type lock struct {
	Who string    `json:"who"`
	At  time.Time `json:"at"`
}

const lockKey = "gc/running.json"

// stale is the age after which a lock counts as left behind.
const stale = 6 * time.Hour

// Collect removes what nobody needs. With dry it only says what it would remove. It may be repeated after an error. It
// is an invalid fault if somebody else collects, and a corrupt one if a manifest cannot be read, because nobody knows
// then what that refers to.
func Collect(
	ctx context.Context, b store.Keeper, p Policy, dry bool, progress func(done, all int),
) (Report, error) {
	if p.Grace <= 0 {
		return Report{}, fault.New(fault.Invalid, "the grace period must be longer than 0")
	}
	c := &collector{b: b, p: p, dry: dry, now: time.Now(), progress: progress}
	if !dry {
		release, err := c.lock(ctx)
		if err != nil {
			return c.report, err
		}
		defer release()
	}
	if err := c.look(ctx); err != nil {
		return c.report, err
	}
	if err := c.mark(ctx); err != nil {
		return c.report, err
	}

	return c.report, c.sweep(ctx)
}

// lock keeps others from collecting. Two at once could remove what one of them has just put into the trash.
func (c *collector) lock(ctx context.Context) (release func(), err error) {
	body, err := store.Seal(lock{c.p.Who, c.now})
	if err != nil {
		return nil, err
	}
	for range 2 {
		created, err := c.b.PutOnce(ctx, lockKey, body)
		if err != nil {
			return nil, err
		}
		if created {
			return func() { _ = c.b.Delete(context.WithoutCancel(ctx), lockKey) }, nil
		}
		held, _, err := store.Read[lock](ctx, c.b, lockKey)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if c.now.Sub(held.At) < stale && !c.p.Force {
			return nil, fault.New(fault.Invalid, "%s collects since %s: wait, or use --force if that process has died",
				held.Who, held.At.Format(time.DateTime))
		}
		if err := c.b.Delete(ctx, lockKey); err != nil {
			return nil, err
		}
	}

	return nil, fault.New(fault.Invalid, "somebody else collects: wait")
}

// collector is a collection on its way.
type collector struct {
	b        store.Keeper
	p        Policy
	dry      bool
	now      time.Time
	progress func(done, all int)

	objects map[string]store.Aged // without the trash
	order   []string              // their keys
	trashed map[string]store.Aged // by the keys of the blobs
	runs    map[string]*run
	seen    map[string]bool // objects that were read, or are about to be
	kept    map[string]bool // objects that something refers to
	named   map[string]bool // of blobs that are not kept: those that a record names that retention passes over
	report  Report
}

// run is what a collector knows of a run.
type run struct {
	name      string
	dead      bool // somebody deleted it, or nobody finished writing it
	ended     bool
	committed int
	keep      map[int]bool // epochs whose policies are kept; nil: all
	keys      []string
}

// look lists the store and finds out which runs are dead.
func (c *collector) look(ctx context.Context) error {
	all, err := c.b.Ages(ctx, "")
	if err != nil {
		return err
	}
	c.objects, c.trashed = make(map[string]store.Aged, len(all)), map[string]store.Aged{}
	c.runs = map[string]*run{}
	for _, o := range all {
		if strings.HasPrefix(o.Key, store.TrashPrefix) {
			c.trashed[strings.TrimPrefix(o.Key, store.TrashPrefix)] = o

			continue
		}
		c.objects[o.Key] = o
		c.order = append(c.order, o.Key)
		c.report.Objects, c.report.Bytes = c.report.Objects+1, c.report.Bytes+o.Size
		if name := runs.NameOf(o.Key); name != "" {
			r := c.runs[name]
			if r == nil {
				r = &run{name: name}
				c.runs[name] = r
			}
			r.keys = append(r.keys, o.Key)
		}
	}
	for _, r := range c.runs {
		r.dead = c.isDead(r)
	}

	return c.spare(ctx)
}

// old reports whether an object is older than the grace period.
func (c *collector) old(key string) bool { return c.now.Sub(c.objects[key].Written) > c.p.Grace }

// isDead reports whether nobody can use a run: it was deleted a while ago, or a fork or a copy of it was never
// finished.
func (c *collector) isDead(r *run) bool {
	x := runs.Run(r.name)
	if _, ok := c.objects[x.Deleted().Key]; ok {
		return c.old(x.Deleted().Key)
	}
	if _, ok := c.objects[x.Spec().Key]; ok {
		return false
	}
	for _, key := range r.keys {
		if !c.old(key) {
			return false
		}
	}

	return true
}

// spare keeps dead runs of which a fork is being made: it still copies.
func (c *collector) spare(ctx context.Context) error {
	for _, r := range c.runs {
		x := runs.Run(r.name)
		if _, whole := c.objects[x.Spec().Key]; whole || r.dead {
			continue
		}
		origin, _, err := x.Origin().Read(ctx, c.b)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if from := c.runs[origin.Run]; from != nil {
			from.dead = false
		}
	}

	return nil
}
