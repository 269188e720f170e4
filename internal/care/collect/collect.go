// Package collect removes from a store what nothing needs: deleted runs, blobs that nothing refers to, checkpoints of
// training that has ended, and everything that the retention policy does not keep. It is safe beside runs, forks and
// copies in progress, and may be cut short at any moment. It also restores removed objects.
//
// Absence in a LIST is no evidence. A removed object goes into the trash first, and is gone for good when two later
// collections have found nothing that refers to it. Decision record 45 has the protocol and its proof.
package collect

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/hold"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Policy determines what a collection keeps.
type Policy struct {
	// Grace is the minimum age of an object that is removed, and the time that it stays in the trash. A process that
	// writes an object must refer to it within that time.
	Grace time.Duration
	// Epochs is the number of newest epochs whose policies are kept once a run has ended, besides the run's best epoch
	// and the epochs that lines accept. 0 keeps all.
	Epochs int
	// Calls is how long recorded calls are kept after their run has ended. 0 keeps all.
	Calls time.Duration
	Who   string
	// Force permits removing objects that no deletion explains, however many they are.
	Force bool
}

// String returns the policy in a few words.
func (p Policy) String() string {
	return fmt.Sprintf("policies of the last %d epochs, calls for %v (0: all)", p.Epochs, p.Calls)
}

// Report counts and lists the removed objects, or the objects that would be removed.
type Report struct {
	Objects  int   `json:"objects"` // in the store before, without the trash
	Bytes    int64 `json:"bytes"`
	Removed  Tally `json:"removed"`  // manifests moved to the trash: of deleted runs, checkpoints, recorded calls
	Trashed  Tally `json:"trashed"`  // blobs moved to the trash
	Freed    Tally `json:"freed"`    // objects that left the trash for good
	Restored Tally `json:"restored"` // objects that came back from the trash, because something refers to them

	Unexplained int      `json:"unexplained"` // trashed blobs that no removed manifest referred to
	Unfinished  []string `json:"unfinished"`  // copies and forks that were cut short: removed if they are not continued
	Runs        []string `json:"runs"`        // runs that were removed as a whole
	Uploads     int      `json:"uploads"`     // uploads that were cut short, and whose parts were removed

	Waiting []Waiting `json:"waiting,omitempty"` // deleted runs that are younger than the grace period
	Needed  []string  `json:"needed,omitempty"`  // deleted runs of which something else needs a part
	Young   Tally     `json:"young"`             // blobs that nothing refers to, younger than the grace period
}

// Waiting is a deleted run that a later collection removes.
type Waiting struct {
	Run     string    `json:"run"`
	Objects int       `json:"objects"`
	After   time.Time `json:"after"`
}

// Tally counts objects.
type Tally struct {
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

func (t *Tally) add(size int64) { t.Objects, t.Bytes = t.Objects+1, t.Bytes+size }

// Collect removes the objects that nothing needs. With dry it only reports the objects that it would remove. It may be
// repeated after an error. It returns an invalid fault if another collection is at work or if more would be removed
// than deletions explain, a corrupt fault if a manifest cannot be read (its references are then unknown), and a
// transient fault if a LIST of the store is incomplete. After these faults nothing was removed.
func Collect(
	ctx context.Context, keeper store.Keeper, policy Policy, dry bool, progress func(done, all int),
) (Report, error) {
	if policy.Grace <= 0 {
		return Report{}, fault.New(fault.Invalid, "the grace period must be longer than 0")
	}
	c := &collector{b: keeper, p: policy, progress: progress}
	if dry {
		c.now = time.Now()

		return c.report, c.collect(ctx)
	}
	err := hold.Do(ctx, keeper, policy.Who, func(ctx context.Context, lock *hold.Lock) error {
		c.lock = lock
		c.now = lock.Now()

		return c.collect(ctx)
	})

	return c.report, err
}

// collect lists the store, decides which objects to remove, and removes them.
func (c *collector) collect(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		c.recall, c.look, c.compare, c.judge, c.mark, c.explain, c.record, c.remember, c.sweep, c.abort,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}

	return nil
}

// collector is the state of a collection.
type collector struct {
	b        store.Keeper
	p        Policy
	lock     *hold.Lock // nil if this collection only reports
	now      time.Time  // time of the server when the collection began
	progress func(done, all int)

	before  record // of the previous collection
	after   record // of this collection
	objects map[string]store.Aged
	order   []string                // their keys
	trashed map[string][]store.Aged // copies in the trash by the keys of the objects, the oldest first
	runs    map[string]*run
	ended   map[string]bool // whether a record exists that ends a training, by its key
	kept    map[string]bool // objects that something refers to
	named   map[string]bool // blobs not kept that are named by a record which retention passes over
	why     map[string]bool // blobs not kept that removed manifests name
	report  Report

	mu sync.Mutex // guards the findings about runs
}

// run is the knowledge of a collector about a run.
type run struct {
	name      string
	dead      bool // someone deleted it, or no one finished writing it
	deleted   bool // someone deleted it
	ended     bool
	committed int
	shared    *runs.Shared // the objects that it shares with other runs
	keep      map[int]bool // epochs whose policies are kept; nil keeps all
	keys      []string

	known map[string]referring // by key, from earlier collections, for a run that has ended
	found map[string]referring // by key, from this collection; nil for other runs
}

// look lists the store.
func (c *collector) look(ctx context.Context) error {
	all, err := c.b.Ages(ctx, "")
	if err != nil {
		return err
	}
	c.objects = make(map[string]store.Aged, len(all))
	c.trashed = map[string][]store.Aged{}
	c.runs = map[string]*run{}
	c.report.Runs = []string{}
	for _, aged := range all {
		if key, _, ok := store.TrashOf(aged.Key); ok {
			c.trashed[key] = append(c.trashed[key], aged)

			continue
		}
		c.objects[aged.Key] = aged
		c.order = append(c.order, aged.Key)
		c.report.Objects++
		c.report.Bytes += aged.Size
		if name := runs.NameOf(aged.Key); name != "" {
			r := c.runs[name]
			if r == nil {
				r = &run{name: name}
				c.runs[name] = r
			}
			r.keys = append(r.keys, aged.Key)
		}
	}

	return nil
}

// old reports whether an object is older than the grace period.
func (c *collector) old(key string) bool { return c.aged(c.objects[key].Written) }

// aged reports whether a time is longer ago than the grace period.
func (c *collector) aged(at time.Time) bool { return c.now.Sub(at) > c.p.Grace }

// own reports whether an object is part of the store's own bookkeeping and refers to nothing.
func own(key string) bool { return strings.HasPrefix(key, "gc/") || runs.IsMark(key) }

// abort removes the parts of uploads that were cut short.
func (c *collector) abort(ctx context.Context) error {
	uploader, ok := c.b.(store.Uploader)
	if !ok {
		return nil
	}
	uploads, err := uploader.Uploads(ctx)
	if err != nil {
		return err
	}
	for _, upload := range uploads {
		if !c.aged(upload.Active) { // it may still be in progress
			continue
		}
		c.report.Uploads++
		if c.lock == nil {
			continue
		}
		if err := uploader.Abort(ctx, upload); err != nil {
			return err
		}
	}

	return nil
}
