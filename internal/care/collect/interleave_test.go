package collect_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/care/fork"
	"github.com/collabui/collabui/internal/care/transfer"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/fakepolicy"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workers/catalog"
)

var interleavings = flag.Int("interleavings", 60, "random interleavings to try")

// tiny plays runs with few and small objects: small, half and gone. They have the same policies.
func tiny(t *testing.T) *store.Memory {
	t.Helper()
	all := &store.Memory{}
	for _, name := range []string{"small", "half", "gone"} {
		s := fakepolicy.Specification(name)
		s.Decoding.Temperatures = []float64{0.5}
		r := testrun.New(t, s)
		if _, err := r.Play(t, nil); err != nil {
			t.Fatal(err)
		}
		add(t, all, r.Bucket, func(string) bool { return true })
	}

	return all
}

// add copies objects from one store to another.
func add(t *testing.T, to, from *store.Memory, which func(key string) bool) {
	t.Helper()
	objects, err := from.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if !which(o.Key) {
			continue
		}
		raw, err := from.Get(t.Context(), o.Key)
		if err == nil {
			_, err = to.PutOnce(t.Context(), o.Key, raw)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// world is one interleaving.
type world struct {
	t     *testing.T
	b     *slow
	whole *store.Memory // all runs, as they are at their ends
	seed  uint64
	wg    sync.WaitGroup
}

// actor performs an action at a random time within a span. It repeats the action after transient faults, and is killed
// now and then.
func (w *world) actor(name string, within time.Duration, do func(ctx context.Context) error) {
	r := domain.Rand(w.seed, "actor", name)
	w.wg.Go(func() {
		time.Sleep(time.Duration(r.IntN(int(within))))
		for range 40 { // few requests fail, but a run consists of many
			ctx, cancel := context.WithCancel(context.Background())
			if r.IntN(4) == 0 {
				time.AfterFunc(time.Duration(r.IntN(int(2*time.Minute))), cancel)
			}
			err := do(ctx)
			killed := ctx.Err() != nil
			cancel()
			w.b.hits.mu.Lock()
			if w.b.hits.done++; killed {
				w.b.hits.kills++
			}
			w.b.hits.mu.Unlock()
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
	p := collect.Policy{Grace: grace, Who: "a test", Force: true} // a killed process leaves the lock behind
	_, err := collect.Collect(ctx, w.b, p, false, func(int, int) {})

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

// resume writes the objects that a run lacks, blobs before the objects that refer to them, as its activities do.
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
		slices.SortStableFunc(all, func(a, b store.Ref) int { // an epoch begins before it is committed
			return cmp.Compare(path.Base(b.Key), path.Base(a.Key))
		})
		for _, o := range all {
			if err := w.write(ctx, o.Key, written); err != nil {
				return err
			}
		}

		return nil
	}
}

// write writes an object after the objects that it refers to.
func (w *world) write(ctx context.Context, key string, written map[string]bool) error {
	if written[key] {
		return nil
	}
	raw, err := w.whole.Get(ctx, key)
	if err != nil {
		return err
	}
	refs, err := verify.Inspect(key, raw)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if err := w.write(ctx, ref, written); err != nil {
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

// play lets all actors act concurrently, and later once more while the deleted runs are collected.
func (w *world) play(other *store.Memory) {
	const soon, later = 2 * time.Minute, 4 * time.Hour
	for i := range 3 {
		w.actor(fmt.Sprint("gc ", i), soon, w.collect)
		w.actor(fmt.Sprint("later gc ", i), later, w.collect)
	}
	w.actor("fork", soon, w.fork("small", "shares", nil))
	w.actor("fork with another value", soon, w.fork("small", "changed", map[string]string{"train.beta": "0.3"}))
	w.actor("fork of a fork", later, w.fork("shares", "again", nil))
	w.actor("delete the original", soon, w.remove("small"))
	w.actor("delete a fork", later, w.remove("shares"))
	w.actor("delete another fork", soon, w.remove("changed"))
	w.actor("resume", soon, w.resume("half"))
	w.actor("resume what is deleted", soon, w.resume("gone"))
	w.actor("delete what is resumed", soon, w.remove("gone"))
	w.actor("copy", soon, func(ctx context.Context) error {
		_, err := transfer.Runs(ctx, w.b, other, []string{"small"}, func(int, int) {})

		return err
	})
	w.actor("restore", later, func(ctx context.Context) error {
		_, err := transfer.Runs(ctx, w.whole, w.b, []string{"small"}, func(int, int) {})

		return err
	})
	w.wg.Wait()
}

// check collects until nothing is left to collect, and checks the store.
func (w *world) check(bytes *tally) {
	for range 4 {
		gc(w.t, w.b.Memory, collect.Policy{Force: true})
	}
	report := clean(w.t, w.b.Memory)
	names, err := runs.Names(w.t.Context(), w.b.Memory)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range names {
		if problems, err := verify.Run(w.t.Context(), w.b.Memory, name); err != nil || len(problems) > 0 {
			w.t.Errorf("seed %d: run %s: %v, %v; want no problems", w.seed, name, problems, err)
		}
	}
	for _, name := range names {
		origin, _, err := runs.Run(name).Origin().Must(w.t.Context(), w.b.Memory)
		if err == nil && !slices.Contains(names, origin.Run) {
			w.t.Errorf("seed %d: run %s is a fork of %s, which was deleted; want that refused",
				w.seed, name, origin.Run)
		}
	}
	trash, err := w.b.Memory.List(w.t.Context(), store.TrashPrefix)
	if err != nil {
		w.t.Fatal(err)
	}
	all, err := w.b.Memory.Ages(w.t.Context(), "")
	if err != nil {
		w.t.Fatal(err)
	}
	unreachable := map[string]bool{}
	for _, key := range report.Unreferenced {
		unreachable[key] = store.IsBlob(key)
	}
	for _, o := range all {
		if unreachable[o.Key] {
			bytes.left += o.Size
		}
	}
	for _, o := range trash {
		bytes.left += o.Size
	}
}

// tally counts unreachable bytes: the ones that are left, and the ones that were removed.
type tally struct{ left, freed int64 }

func TestCollectingBesideEverythingElseLosesNothing(t *testing.T) {
	whole := tiny(t)
	struck, bytes := &hits{}, &tally{}
	for seed := range *interleavings {
		synctest.Test(t, func(t *testing.T) {
			w := &world{t: t, whole: clone(t, whole), seed: uint64(seed)}
			w.b = &slow{Memory: &store.Memory{}, seed: uint64(seed), asked: map[string]int{}, hits: struck}
			add(t, w.b.Memory, whole, func(key string) bool { // half and gone have only begun
				return store.IsBlob(key) || strings.HasPrefix(key, "runs/small/") || runs.IsSpec(key) ||
					strings.Contains(key, "/finetune/")
			})
			for i := range 5 {
				body := fmt.Appendf(nil, "nobody needs %d", i)
				if _, err := store.PutBlob(t.Context(), w.b.Memory, body); err != nil {
					t.Fatal(err)
				}
			}
			before := size(t, w.b.Memory)
			time.Sleep(2 * grace) // until everything is old
			w.play(clone(t, &store.Memory{}))
			w.check(bytes)
			bytes.freed += max(0, before-size(t, w.b.Memory))
		})
		if t.Failed() {
			t.Fatalf("seed %d failed, want no failure; the others were not tried", seed)
		}
	}
	t.Logf("%d interleavings: %d requests failed before and %d after their effect, %d of %d actors were killed; "+
		"%d bytes freed, %d unreachable left", *interleavings, struck.before, struck.after, struck.kills, struck.done,
		bytes.freed, bytes.left)
	if struck.before == 0 || struck.after == 0 || struck.kills == 0 {
		t.Errorf("the faults struck %+v times, want each kind", struck)
	}
	if bytes.left*20 > bytes.freed+bytes.left {
		t.Errorf("%d bytes are left that nobody can reach, and %d were freed; want 95 %% freed",
			bytes.left, bytes.freed)
	}
}

// size returns the bytes of a store.
func size(t *testing.T, b store.Bucket) (n int64) {
	t.Helper()
	all, err := b.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		n += o.Size
	}

	return n
}
