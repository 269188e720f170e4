package collect_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/collect"
	"github.com/collabui/collabui/internal/store/hold"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/internal/store/transfer"
	"github.com/collabui/collabui/internal/store/verify"
	"github.com/collabui/collabui/test/kit/fakepolicy"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/trainer"
)

var (
	interleavings = flag.Int("interleavings", 60, "random interleavings to try")
	firstSeed     = flag.Int("seed", 0, "seed of the first one")
)

// tiny plays runs of few and small objects. They have the same policies.
func tiny(t *testing.T, seed uint64, names ...string) *store.Memory {
	t.Helper()
	all := &store.Memory{}
	for _, name := range names {
		s := fakepolicy.Specification(name)
		s.Seed = seed
		s.Decoding.Temperatures = []float64{0.5}
		r := testrun.New(t, s)
		r.Deps.Chat, r.Deps.Scores = fakepolicy.Policies{}, fakepolicy.Policies{}
		r.Deps.Load = func(context.Context, string, int) error { return nil }
		r.Deps.Trainers = map[string]trainer.Trainer{spec.Embedded: fakepolicy.Trainer{Bucket: r.Bucket}}
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

// play lets everybody act at once, and later once more while what was deleted is collected.
func (w *world) play(other *store.Memory) {
	const soon, later, late = 2 * time.Minute, 4 * time.Hour, 12 * time.Hour
	for i := range 3 {
		w.actor(fmt.Sprint("gc ", i), soon, w.collect)
		w.actor(fmt.Sprint("later gc ", i), later, w.collect)
	}
	for i := range 6 {
		w.actor(fmt.Sprint("late gc ", i), late, w.collect)
		if i < 5 {
			w.actor(fmt.Sprint("adopt ", i), late, w.adopt(i))
		}
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
	w.actor("delete what is taken back", soon, w.delete)
	w.actor("undelete with care", later, w.undelete)
	w.actor("a copy that takes long", soon, w.copy)
	w.actor("delete twice", soon, w.remove("twice"))
	w.actor("twice again", later, w.restart)
	w.wg.Wait()
}

// same checks that a run has all objects that it should have, checkpoints and calls apart.
func (w *world) same(name string, want *store.Memory) {
	all := list(w.t, want, runs.Run(name).Prefix())
	lost, other := 0, 0
	for _, o := range all {
		if strings.Contains(o.Key, "-checkpoint-") {
			continue
		}
		raw, err := want.Get(w.t.Context(), o.Key)
		if err != nil {
			w.t.Fatal(err)
		}
		switch got, err := w.b.Memory.Get(w.t.Context(), o.Key); {
		case err != nil:
			lost++
		case !bytes.Equal(got, raw):
			other++
		}
	}
	if lost+other > 0 {
		w.t.Errorf("seed %d: run %s has lost %d of %d objects, and %d are of another run; want it whole", w.seed, name,
			lost, len(all), other)
	}
}

// check collects until nothing is left to collect, and looks at what there is.
func (w *world) check(counted *tally) {
	time.Sleep(hold.Stale) // the lock of somebody who was killed
	for range 5 {
		gc(w.t, w.b.Memory, collect.Policy{Force: true})
	}
	w.same("kept", w.whole)
	if w.copied {
		w.same("big", w.whole)
	}
	if w.undeleted {
		w.same("back", w.whole)
	}
	if w.again {
		w.same("twice", w.next)
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
		origin, _, err := runs.Run(name).Origin().Read(w.t.Context(), w.b.Memory)
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
			counted.left += o.Size
		}
	}
	for _, o := range trash {
		counted.left += o.Size
	}
}

// tally counts bytes that nobody can reach: those that are left, and those that were removed.
type tally struct{ left, freed int64 }

func TestCollectingBesideEverythingElseLosesNothing(t *testing.T) {
	whole := tiny(t, 1, "small", "half", "gone", "kept", "back", "big", "twice")
	next := tiny(t, 2, "twice")
	struck, counted := &hits{}, &tally{}
	for seed := *firstSeed; seed < *firstSeed+*interleavings; seed++ {
		synctest.Test(t, func(t *testing.T) {
			w := &world{t: t, whole: clone(t, whole), next: clone(t, next), seed: uint64(seed)}
			w.b = &slow{
				Memory: &store.Memory{}, t: t, seed: uint64(seed), guarded: "runs/kept/",
				asked: map[string]int{}, late: map[string]bool{}, hits: struck,
			}
			add(t, w.b.Memory, whole, func(key string) bool { // half and gone have only begun, and big is elsewhere
				begun := strings.HasPrefix(key, "runs/half/") || strings.HasPrefix(key, "runs/gone/")

				return !strings.HasPrefix(key, "runs/big/") &&
					(!begun || runs.IsSpec(key) || strings.Contains(key, "/finetune/"))
			})
			for i := range 5 {
				body := fmt.Appendf(nil, "nobody needs %d", i)
				if _, err := store.PutBlob(t.Context(), w.b.Memory, body); err != nil {
					t.Fatal(err)
				}
			}
			before := size(t, w.b.Memory)
			time.Sleep(2 * grace) // everything is old
			w.play(clone(t, &store.Memory{}))
			w.check(counted)
			counted.freed += max(0, before-size(t, w.b.Memory))
		})
		if t.Failed() {
			t.Fatalf("seed %d failed, want no failure; the others were not tried", seed)
		}
	}
	t.Logf("%d interleavings: %d requests failed before and %d after their effect, %d reads and %d keys of lists were "+
		"not shown, %d lists were cut, actors were stopped for %d requests, and %d of %d were killed; %d collections, "+
		"%d undeletions, %d long copies and %d second runs reached their ends; %d bytes freed, %d unreachable left",
		*interleavings, struck.before, struck.after, struck.stale, struck.omitted, struck.cut, struck.freezes,
		struck.kills, struck.done, struck.passed, struck.undeleted, struck.copied, struck.again, counted.freed,
		counted.left)
	for name, n := range map[string]int{
		"before": struck.before, "after": struck.after, "kills": struck.kills, "stale": struck.stale,
		"omitted": struck.omitted, "cut": struck.cut, "stopped": struck.freezes, "undeleted": struck.undeleted,
		"copied": struck.copied, "again": struck.again,
	} {
		if n == 0 {
			t.Errorf("%s: 0 times, want each fault and each actor's end", name)
		}
	}
	if counted.left*20 > counted.freed+counted.left {
		t.Errorf("%d bytes are left that nobody can reach, and %d were freed; want 95 %% freed",
			counted.left, counted.freed)
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
