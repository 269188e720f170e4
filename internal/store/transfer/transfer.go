// Package transfer copies runs, or whole stores, from one object store to another. Every object is verified by its hash
// on both sides, and what the other side has already is not copied again.
//
// It imports fault, internal/store, internal/store/experiments, internal/store/lines, internal/store/runs,
// internal/store/schedules and internal/store/verify.
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
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/experiments"
	"github.com/collabui/collabui/internal/store/lines"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/internal/store/schedules"
	"github.com/collabui/collabui/internal/store/verify"
)

// Report says what a transfer did.
type Report struct {
	Runs    []string `json:"runs"`
	Objects int      `json:"objects"` // that the other side has now
	Written int      `json:"written"` // of them, those that it did not have
	Bytes   int64    `json:"bytes"`   // of what was written
}

// Runs copies runs with everything that they refer to, in other runs, too. A run is there when its specification is,
// which is copied last. It may be repeated after an error, and beside runs that go on: of those it copies what there
// is. The error wraps store.ErrNotFound if there is no such run, and is an invalid fault if the other side has another
// run of the name. Of what a policy of retention has removed, it copies the record.
func Runs(ctx context.Context, from, to store.Bucket, names []string, progress func(done, known int)) (Report, error) {
	return newTransfer(from, to, progress).runs(ctx, names)
}

// runs copies runs and what is queued.
func (t *transfer) runs(ctx context.Context, names []string) (Report, error) {
	if err := t.retirements(ctx); err != nil {
		return t.report, err
	}
	var last []string
	for _, name := range names {
		objects, err := t.from.List(ctx, runs.Run(name).Prefix())
		if err != nil {
			return t.report, err
		}
		spec := runs.Run(name).Spec().Key
		if !slices.ContainsFunc(objects, func(o store.Ref) bool { return o.Key == spec }) {
			if t.lenient { // it was deleted meanwhile
				continue
			}

			return t.report, fmt.Errorf("run %q: %w", name, store.ErrNotFound)
		}
		if err := t.sameRun(ctx, name); err != nil {
			if err := t.refuse(err); err != nil {
				return t.report, err
			}

			continue
		}
		for _, o := range objects {
			if o.Key != spec {
				t.found(o.Key)
			}
		}
		last, t.report.Runs = append(last, spec), append(t.report.Runs, name)
	}
	if err := t.all(ctx); err != nil {
		return t.report, err
	}
	t.found(last...)

	return t.report, t.all(ctx)
}

// retirements copies the records of what was removed by policies of retention: fsck asks for them.
func (t *transfer) retirements(ctx context.Context) (err error) {
	if t.retired, err = runs.Retired(ctx, t.from); err != nil {
		return err
	}
	records, err := t.from.List(ctx, runs.RetiredPrefix)
	if err != nil {
		return err
	}
	for _, o := range records {
		raw, err := t.from.Get(ctx, o.Key)
		if err == nil {
			_, err = t.to.PutOnce(ctx, o.Key, raw)
		}
		if err != nil {
			return err
		}
	}

	return nil
}

// sameRun refuses a run of whose name the other side has another one.
func (t *transfer) sameRun(ctx context.Context, name string) error {
	key := runs.Run(name).Spec().Key
	there, err := t.to.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	here, err := t.from.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) || err == nil && !bytes.Equal(here, there) {
		return errAnother(key)
	}

	return err
}

// mayHave refuses an object of a run of whose name the other side has another one: forks refer to objects of the runs
// that they were made of.
func (t *transfer) mayHave(ctx context.Context, key string) error {
	name := runs.NameOf(key)
	if name == "" {
		return nil
	}
	t.mu.Lock()
	err, asked := t.same[name]
	t.mu.Unlock()
	if asked {
		return err
	}
	err = t.sameRun(ctx, name)
	if err == nil || fault.KindOf(err) == fault.Invalid {
		t.mu.Lock()
		t.same[name] = err
		t.mu.Unlock()
	}

	return err
}

func errAnother(key string) error {
	return fault.New(fault.Invalid, "the other store has another %s: it has another run of that name", key)
}

// transfer is a set of objects on their way.
type transfer struct {
	from, to store.Bucket
	progress func(done, known int)

	retired map[string]bool // digests of blobs that a policy of retention removed
	lenient bool            // goes on if the other side has other objects under the same keys

	listed map[string]bool // keys that a list had

	mu      sync.Mutex
	same    map[string]error // by the name of a run: why the other side cannot have its objects; nil: it can
	images  map[string]bool  // keys of screenshots
	known   map[string]bool
	queue   []string
	refused []error // that it has
	report  Report
}

func newTransfer(from, to store.Bucket, progress func(done, known int)) *transfer {
	return &transfer{
		from: from, to: to, progress: progress,
		listed: map[string]bool{}, same: map[string]error{}, images: map[string]bool{}, known: map[string]bool{},
	}
}

// found queues objects that a list had. A copy of everything takes hours, in which gc may remove some of them. What is
// gone is left out; fsck of the copy finds it if something refers to it.
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
			t.queue = append(t.queue, key)
		}
	}
}

// parallel is the number of objects that are copied concurrently.
const parallel = 16

// all copies what is queued, and what that refers to.
func (t *transfer) all(ctx context.Context) error {
	for {
		t.mu.Lock()
		keys := t.queue
		t.queue = nil
		t.mu.Unlock()
		if len(keys) == 0 {
			return nil
		}

		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(parallel)
		for _, key := range keys {
			g.Go(func() error {
				written, size, err := t.one(gctx, key)
				if err == nil {
					t.count(written, size)
				}
				if errors.Is(err, store.ErrNotFound) && t.lenient && t.listed[key] {
					return nil
				}

				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
}

func (t *transfer) count(written bool, size int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.report.Objects++; written {
		t.report.Written, t.report.Bytes = t.report.Written+1, t.report.Bytes+size
	}
	t.progress(t.report.Objects, len(t.known))
}

// one copies one object, and queues what it refers to.
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
	t.mu.Lock()
	for _, image := range verify.Screenshots(raw) {
		t.images[image] = true
	}
	t.mu.Unlock()
	t.add(refs...)
	if err := t.mayHave(ctx, key); err != nil {
		if there, found := t.to.Get(ctx, key); found == nil && bytes.Equal(there, raw) {
			return false, 0, nil // it has this very object
		}

		return false, 0, t.refuse(err)
	}
	if written, err = t.to.PutOnce(ctx, key, raw); err != nil || written {
		return written, int64(len(raw)), err
	}

	there, err := t.to.Get(ctx, key)
	if err == nil && !bytes.Equal(there, raw) {
		err = t.refuse(errAnother(key))
	}

	return false, 0, err
}

// refuse keeps an error for later, or returns it.
func (t *transfer) refuse(err error) error {
	if !t.lenient || fault.KindOf(err) != fault.Invalid {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refused = append(t.refused, err)

	return nil
}

// All copies all runs, blobs that no run refers to, such as policies that were imported and not used yet, and then all
// lines, schedules and experiments. It is like Runs otherwise, but goes on without what the other side has another one
// of, such as a run whose name was used before, and returns that error at its end.
func All(ctx context.Context, from, to store.Bucket, progress func(done, known int)) (Report, error) {
	names, err := runs.Names(ctx, from)
	if err != nil {
		return Report{}, err
	}
	t := newTransfer(from, to, progress)
	t.lenient = true
	blobs, err := from.List(ctx, store.BlobPrefix)
	if err != nil {
		return t.report, err
	}
	for _, o := range blobs {
		t.found(o.Key)
	}
	report, err := t.runs(ctx, names)
	if err != nil {
		return report, err
	}
	accepted, err := lines.Keys(ctx, from)
	if err != nil {
		return t.report, err
	}
	t.add(accepted...)
	scheduled, err := schedules.Keys(ctx, from)
	if err != nil {
		return t.report, err
	}
	t.add(scheduled...)
	declared, err := experiments.Keys(ctx, from)
	if err != nil {
		return t.report, err
	}
	t.add(declared...)
	err = t.all(ctx)
	if len(t.refused) > 0 {
		err = errors.Join(err, fault.New(fault.Invalid, "%d objects were not copied, the first: %w", len(t.refused),
			t.refused[0]))
	}

	return t.report, err
}
