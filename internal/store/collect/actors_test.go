package collect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/collect"
	"github.com/collabui/collabui/internal/store/fork"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/internal/store/transfer"
	"github.com/collabui/collabui/internal/store/verify"
	"github.com/collabui/collabui/workers/catalog"
)

// world is one interleaving.
type world struct {
	t     *testing.T
	b     *slow
	whole *store.Memory // all runs, as they are at their ends
	next  *store.Memory // the second run of the name twice
	seed  uint64
	wg    sync.WaitGroup

	mu        sync.Mutex
	deletedAt time.Time // of the run back
	undeleted bool      // it was taken back
	copied    bool      // the run big is there
	again     bool      // the second run of the name twice is there
}

// actor does something at a random time within a span, again after transient faults, and is killed or stopped now and
// then. Those that care for the store meet one that does not show everything.
func (w *world) actor(name string, within time.Duration, do func(ctx context.Context) error) {
	r := domain.Rand(w.seed, "actor", name)
	w.wg.Go(func() {
		time.Sleep(time.Duration(r.IntN(int(within))))
		for range 8 {
			a := &actor{misled: r.IntN(2) == 0 && (strings.Contains(name, "gc") || strings.Contains(name, "care"))}
			if r.IntN(3) == 0 {
				a.from = time.Now().Add(time.Duration(r.IntN(int(2 * time.Minute))))
				a.till = a.from.Add(time.Duration(r.IntN(int(4 * grace))))
			}
			ctx, cancel := context.WithCancel(context.WithValue(context.Background(), actorKey{}, a))
			if r.IntN(4) == 0 {
				time.AfterFunc(time.Duration(r.IntN(int(2*time.Minute))), cancel)
			}
			err := do(ctx)
			killed := ctx.Err() != nil
			cancel()
			w.b.hits.count(&w.b.hits.done)
			if killed {
				w.b.hits.count(&w.b.hits.kills)
			}
			kind := fault.KindOf(err)
			switch {
			case killed || err != nil && kind == fault.Transient && !errors.Is(err, store.ErrNotFound):
				time.Sleep(time.Duration(r.IntN(int(time.Minute))))
			case err != nil && kind != fault.Invalid && !errors.Is(err, store.ErrNotFound):
				w.t.Errorf("seed %d: %s: %v, want an invalid or a transient fault, or nothing found", w.seed, name, err)

				return
			default:
				return
			}
		}
	})
}

func (w *world) collect(ctx context.Context) error {
	p := collect.Policy{Grace: grace, Who: "a test"}
	_, err := collect.Collect(ctx, w.b, p, false, func(int, int) {})
	if err == nil {
		w.b.hits.count(&w.b.hits.passed)
	}

	return err
}

func (w *world) remove(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		d := runs.Decision{Who: "ann", Why: "old", At: time.Now()}

		return collect.Delete(ctx, w.b, runs.Run(name), d, idle)
	}
}

// fork makes a fork, which recomputes an epoch, or only shares.
func (w *world) fork(of, name string, typed map[string]string) func(context.Context) error {
	return func(ctx context.Context) error {
		f, err := fork.Plan(ctx, w.b, fork.Request{
			Run: runs.Run(of), Name: runs.Run(name), Epoch: 1, Who: "ann", At: time.Now(), Typed: typed,
		}, spec.Source{}, catalog.All{})
		if err != nil {
			return err
		}

		return f.Make(ctx, w.b, func(int) {})
	}
}

// resume writes what a run lacks, blobs before what refers to them, as its activities do.
func (w *world) resume(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := runs.Run(name).Alive(ctx, w.b); err != nil {
			return err
		}
		all, err := w.whole.List(ctx, runs.Run(name).Prefix())
		if err != nil {
			return err
		}
		written := map[string]bool{runs.Run(name).Spec().Key: true}
		for _, o := range all {
			if err := w.write(ctx, w.whole, o.Key, written); err != nil {
				return err
			}
		}

		return nil
	}
}

// write writes an object after those that it refers to.
func (w *world) write(ctx context.Context, from *store.Memory, key string, written map[string]bool) error {
	if written[key] {
		return nil
	}
	raw, err := from.Get(ctx, key)
	if err != nil {
		return err
	}
	refs, err := verify.Inspect(key, raw)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if err := w.write(ctx, from, ref, written); err != nil {
			return err
		}
	}
	if store.IsBlob(key) {
		_, err = store.PutBlob(ctx, w.b, raw)
	} else {
		_, err = w.b.PutOnce(ctx, key, raw)
	}
	written[key] = err == nil

	return err
}

// delete deletes the run back, which somebody takes back later.
func (w *world) delete(ctx context.Context) error {
	err := w.remove("back")(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deletedAt.IsZero() {
		w.deletedAt = time.Now()
	}

	return err
}

// undelete takes the run back back. Within the grace period that must succeed.
func (w *world) undelete(ctx context.Context) error {
	w.mu.Lock()
	deletedAt := w.deletedAt
	w.mu.Unlock()
	if gone, err := runs.Run("back").Deleted().Exists(ctx, w.b.Memory); err != nil || deletedAt.IsZero() && !gone {
		return err
	}
	d := runs.Decision{Who: "ann", Why: "needed", At: time.Now()}
	recovery, err := collect.Undelete(ctx, w.b, "back", d)
	if errors.Is(err, store.ErrNotFound) || err == nil && len(recovery.Missing) > 0 {
		if time.Since(deletedAt) < grace {
			w.t.Errorf("seed %d: undelete after %v = %v, %v; want the run back", w.seed, time.Since(deletedAt),
				recovery.Missing, err)
		}

		return nil
	}
	if err == nil {
		w.mu.Lock()
		w.undeleted = true
		w.mu.Unlock()
		w.b.hits.count(&w.b.hits.undeleted)
	}

	return err
}

// copy copies the run big into the store, for hours.
func (w *world) copy(ctx context.Context) error {
	r := domain.Rand(w.seed, "copy")
	b := pausing{w.b, func() time.Duration {
		w.mu.Lock()
		defer w.mu.Unlock()
		if r.IntN(20) > 0 {
			return 0
		}

		return time.Duration(r.IntN(int(4 * grace)))
	}}
	_, err := transfer.Runs(ctx, w.whole, b, []string{"big"}, func(int, int) {})
	if err == nil {
		w.mu.Lock()
		w.copied = true
		w.mu.Unlock()
		w.b.hits.count(&w.b.hits.copied)
	}

	return err
}

// pausing is a store whose user takes a break before some of the objects that it writes.
type pausing struct {
	*slow
	breaks func() time.Duration
}

func (p pausing) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	if !runs.IsMark(key) {
		time.Sleep(p.breaks())
	}

	return p.slow.PutOnce(ctx, key, body)
}

// restart begins another run of the name twice as soon as that is free.
func (w *world) restart(ctx context.Context) error {
	run := runs.Run("twice")
	for range 20 {
		if left, err := w.b.Memory.List(ctx, run.Prefix()); err != nil || len(left) == 0 {
			break
		}
		time.Sleep(grace / 2)
	}
	raw, err := w.next.Get(ctx, run.Spec().Key)
	if err != nil {
		return err
	}
	left, err := w.b.Memory.List(ctx, run.Prefix())
	if err != nil || len(left) > 0 && left[0].Key != run.Spec().Key {
		return err
	}
	if _, err := w.b.PutOnce(ctx, run.Spec().Key, raw); err != nil {
		return err
	}
	there, err := w.b.Get(ctx, run.Spec().Key)
	if err != nil || !bytes.Equal(there, raw) {
		return err
	}
	if err := run.Alive(ctx, w.b); err != nil {
		return err
	}
	all, err := w.next.List(ctx, run.Prefix())
	if err != nil {
		return err
	}
	written := map[string]bool{run.Spec().Key: true}
	for _, o := range all {
		if err := w.write(ctx, w.next, o.Key, written); err != nil {
			return err
		}
	}
	w.mu.Lock()
	w.again = true
	w.mu.Unlock()
	w.b.hits.count(&w.b.hits.again)

	return nil
}

// adopt finds a blob that nobody needs, and records it within the grace period.
func (w *world) adopt(n int) func(context.Context) error {
	r := domain.Rand(w.seed, "adopt", n)

	return func(ctx context.Context) error {
		ref, err := store.PutBlob(ctx, w.b, fmt.Appendf(nil, "nobody needs %d", n%5))
		if err != nil {
			return err
		}
		time.Sleep(time.Duration(r.IntN(int(grace / 2))))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		note := runs.Object[store.Ref]{Key: fmt.Sprintf("notes/%d-%d.json", n, time.Now().UnixNano())}
		_, _, _, err = note.Write(ctx, w.b, ref)

		return err
	}
}
