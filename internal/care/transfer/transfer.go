// Package transfer copies runs, or whole stores, from one object store to another. Every object is verified by its hash
// on both sides, and objects that the other side already has are not copied again.
package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/hold"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Report counts the objects of a transfer.
type Report struct {
	Runs    []string `json:"runs"`
	Objects int      `json:"objects"` // that the other side has now
	Written int      `json:"written"` // objects that it did not have before
	Bytes   int64    `json:"bytes"`   // size of the written objects
}

// Runs copies runs with everything that they refer to, including objects of other runs. Objects that end a stage are
// copied after all others, and the specification last, which makes the run exist. Runs may be repeated after an error,
// and called beside runs that continue: it copies what they have so far. It may take longer than the grace period of
// collections of the other store: see hold.Write. The error wraps store.ErrNotFound if there is no such run. It is an
// invalid fault if the other side has a different run of the name, or half of another state of the run. Where a
// retention policy has removed something, the record of the removal is copied.
func Runs(ctx context.Context, from, to store.Bucket, names []string, progress func(done, known int)) (Report, error) {
	return newTransfer(from, to, progress).runs(ctx, names)
}

// runs copies runs and the queued objects.
func (t *transfer) runs(ctx context.Context, names []string) (Report, error) {
	if err := t.retirements(ctx); err != nil {
		return t.report, err
	}
	names, err := t.withOrigins(ctx, names)
	if err != nil {
		return t.report, err
	}
	var specs, unfinished []string
	for _, name := range names {
		run := runs.Run(name)
		taken, err := t.plan(ctx, run)
		if err != nil {
			return t.report, err
		}
		if !taken {
			continue
		}
		specs = append(specs, run.Spec().Key)
		exists, err := run.Spec().Exists(ctx, t.to)
		if err != nil {
			return t.report, err
		}
		if !exists {
			unfinished = append(unfinished, name)
		}
	}
	err = hold.Write(ctx, t.to, "a copy", unfinished, func(ctx context.Context, settle hold.Settle) error {
		for _, step := range []func(context.Context) error{t.all, t.relist, settle, t.complete, t.leftovers, t.ends} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		for _, spec := range specs { // a fork exists after the runs with which it shares
			t.found(spec)
			if err := t.all(ctx); err != nil {
				return err
			}
		}

		return t.complete(ctx)
	})

	return t.report, err
}

// plan queues the objects of a run, except its specification, and reports whether the run is copied.
func (t *transfer) plan(ctx context.Context, run runs.Run) (bool, error) {
	objects, err := t.from.List(ctx, run.Prefix())
	if err != nil {
		return false, err
	}
	spec := run.Spec().Key
	if !slices.ContainsFunc(objects, func(ref store.Ref) bool { return ref.Key == spec }) {
		if t.lenient { // it was deleted meanwhile
			return false, nil
		}

		return false, fmt.Errorf("run %q: %w", string(run), store.ErrNotFound)
	}
	err = t.sameRun(ctx, string(run))
	if err == nil {
		err = t.alive(ctx, run)
	}
	if err != nil {
		return false, t.refuse(err)
	}
	for _, o := range objects {
		if o.Key != spec && !runs.IsLocal(o.Key) {
			t.found(o.Key)
		}
	}
	t.report.Runs = append(t.report.Runs, string(run))

	return true, nil
}

// retirements copies the records of blobs that retention policies removed, because fsck needs them.
func (t *transfer) retirements(ctx context.Context) (err error) {
	if t.retired, err = runs.Retired(ctx, t.from); err != nil {
		return err
	}
	records, err := t.from.List(ctx, runs.RetiredPrefix)
	if err != nil {
		return err
	}
	for _, ref := range records {
		raw, err := t.from.Get(ctx, ref.Key)
		if err == nil {
			_, err = t.to.PutOnce(ctx, ref.Key, raw)
		}
		if err != nil {
			return err
		}
	}

	return nil
}

// transfer is a set of objects being copied.
type transfer struct {
	from, to store.Bucket
	progress func(done, known int)

	retired map[string]bool // digests of blobs that a retention policy removed
	lenient bool            // continue if the other side has other objects under the same keys

	listed  map[string]bool // keys that a list showed
	present map[string]bool // manifests of the copied runs that the other side's latest list showed

	mu      sync.Mutex
	same    map[string]error // by name of a run: why the other side cannot have its objects; nil if it can
	known   map[string]bool
	had     map[string]bool // manifests that the other side had when they were copied
	done    map[string]bool // keys whose copying has ended
	queue   []string
	last    []string // objects that end stages, not queued yet
	refused []error  // errors kept for the end
	report  Report
}

func newTransfer(from, to store.Bucket, progress func(done, known int)) *transfer {
	return &transfer{
		from: from, to: to, progress: progress,
		listed: map[string]bool{}, same: map[string]error{}, known: map[string]bool{},
		had: map[string]bool{}, done: map[string]bool{},
	}
}

// found queues objects that a list showed. A copy of everything takes hours, in which gc may remove some of them.
// Removed objects are left out; fsck of the copy finds them if something refers to them.
func (t *transfer) found(keys ...string) {
	for _, key := range keys {
		t.listed[key] = true
	}
	t.add(keys...)
}

// add queues an object once.
func (t *transfer) add(keys ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range keys {
		if !t.known[key] {
			t.known[key] = true
			if runs.EndsStage(key) {
				t.last = append(t.last, key)
			} else {
				t.queue = append(t.queue, key)
			}
		}
	}
}

// parallel is the number of objects that are copied concurrently.
const parallel = 16

// all copies the queued objects, and the objects that they refer to.
func (t *transfer) all(ctx context.Context) error {
	for {
		t.mu.Lock()
		keys := t.queue
		t.queue = nil
		t.mu.Unlock()
		if len(keys) == 0 {
			return nil
		}

		group, gctx := errgroup.WithContext(ctx)
		group.SetLimit(parallel)
		for _, key := range keys {
			group.Go(func() error {
				written, size, err := t.one(gctx, key)
				if t.looked(key, err); errors.Is(err, errWaits) {
					return nil
				}
				if err == nil {
					t.count(written, size)
				}
				missing := errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrAbsent)
				if missing && t.lenient && t.listed[key] {
					return nil
				}

				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
}

func (t *transfer) count(written bool, size int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if written {
		t.report.Written++
		t.report.Bytes += size
	}
	t.report.Objects++
	t.progress(t.report.Objects, len(t.known))
}

// one copies one object, and queues its references.
func (t *transfer) one(ctx context.Context, key string) (written bool, size int64, err error) {
	if store.IsBlob(key) {
		return t.blob(ctx, key)
	}
	raw, err := t.from.Get(ctx, key)
	if err != nil {
		return false, 0, err
	}
	refs, err := verify.Inspect(key, raw)
	if err != nil {
		return false, 0, fault.New(fault.Corrupt, "%s: %w: see `collabui fsck`", key, err)
	}
	if t.add(refs...); t.waits(refs) {
		return false, 0, errWaits
	}
	if err := t.mayHave(ctx, key); err != nil {
		if existing, failed := t.to.Get(ctx, key); failed == nil && bytes.Equal(existing, raw) {
			t.has(key) // exactly this object

			return false, 0, nil
		}

		return false, 0, t.refuse(err)
	}
	if written, err = t.to.PutOnce(ctx, key, raw); err != nil {
		return false, 0, err
	}
	if written {
		t.has(key)

		return true, int64(len(raw)), nil
	}

	existing, err := t.to.Get(ctx, key)
	if err != nil {
		return false, 0, err
	}
	if !bytes.Equal(existing, raw) {
		return false, 0, t.refuse(errAnother(key))
	}
	t.has(key)

	return false, 0, nil
}

// errWaits is the error for a manifest that names others which were not copied yet. They are copied first, so that a
// copy that is cut short has no episode without its steps. Blobs are copied after the manifests that keep them.
var errWaits = errors.New("what it names is copied first")

// waits reports whether a manifest with these references must be copied later.
func (t *transfer) waits(refs []string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()

	return slices.ContainsFunc(refs, func(ref string) bool {
		return !store.IsBlob(ref) && !runs.EndsStage(ref) && !runs.IsSpec(ref) && !t.done[ref]
	})
}

// looked records how copying the object ended, and queues it again if it waits.
func (t *transfer) looked(key string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if errors.Is(err, errWaits) {
		t.queue = append(t.queue, key)
	} else {
		t.done[key] = true
	}
}

// has records that the other side has a manifest.
func (t *transfer) has(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.had[key] = true
}
