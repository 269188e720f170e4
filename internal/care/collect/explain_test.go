package collect_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// half writes an object of a run that has no specification.
func half(t *testing.T, b store.Bucket, run runs.Run) {
	t.Helper()
	if _, _, _, err := run.Change(1).Write(t.Context(), b, runs.Change{Who: "ann", Verb: runs.VerbPause}); err != nil {
		t.Fatal(err)
	}
}

// TestManyRunsWithoutASpecificationAreNotRemovedAtOnce expects that three interrupted copies count as unusual in a
// small store, and two do not.
func TestManyRunsWithoutASpecificationAreNotRemovedAtOnce(t *testing.T) {
	fresh := finished(t)
	for _, n := range []int{2, 3} {
		synctest.Test(t, func(t *testing.T) {
			b := fresh()
			for i := range n {
				half(t, b, runs.Run(fmt.Sprintf("half-%d", i)))
			}
			err := try(t, b)
			if left := len(list(t, b, runs.AllPrefix+"half-")); err != nil || left != n {
				t.Fatalf("the first Collect = %v, and left %d, want all %d: it alone saw them", err, left, n)
			}
			for range 2 {
				if err = try(t, b); err != nil {
					break
				}
			}
			left := len(list(t, b, runs.AllPrefix+"half-"))
			switch {
			case n == 2 && (err != nil || left > 0):
				t.Errorf("Collect beside 2 halves of runs = %v, and left %d, want them removed", err, left)
			case n == 3 && (fault.KindOf(err) != fault.Invalid || left != 3):
				t.Errorf("Collect beside 3 halves of runs = %v, and left %d, want it refused", err, left)
			}
			gc(t, b, collect.Policy{Force: true})
			if left := list(t, b, runs.AllPrefix+"half-"); len(left) > 0 {
				t.Errorf("Collect by force left %v, want nothing of them", left)
			}
		})
	}
}

func TestADeletionCountsAfterTheGracePeriod(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b := fresh()
		gc(t, b, collect.Policy{})
		if err := remove(t, b, "small"); err != nil {
			t.Fatal(err)
		}
		before := list(t, b, runs.AllPrefix)
		report, err := collect.Collect(t.Context(), b, collect.Policy{Grace: grace}, false, func(int, int) {})
		if left := list(t, b, runs.AllPrefix); err != nil || len(report.Runs) > 0 || !slices.Equal(left, before) {
			t.Errorf("Collect right after a deletion = %+v, %v; want nothing removed", report, err)
		}
	})
}

// silent is a store whose reads do not find an object that its LISTs show.
type silent struct {
	*store.Memory
	key string
}

func (s silent) Get(ctx context.Context, key string) ([]byte, error) {
	if key == s.key {
		return nil, fmt.Errorf("%s: %w", key, store.ErrNotFound)
	}

	return s.Memory.Get(ctx, key)
}

// TestAStoreThatContradictsItselfIsReported lets LISTs leave out existing objects, and show one that does not exist.
func TestAStoreThatContradictsItselfIsReported(t *testing.T) {
	fresh := finished(t)
	small := runs.Run("small")
	left := func(b *store.Memory, key string) store.Keeper {
		return listing{b, func(_ int, k string) bool { return k != key }}
	}
	for name, x := range map[string]struct {
		key       string
		collected bool
		odd       func(b *store.Memory, key string) store.Keeper
	}{
		"no specification in a LIST":         {small.Spec().Key, false, left},
		"less in a LIST than the one before": {small.Epoch(1).Key, true, left},
		"no answer to a read": {small.Pairs(1, 1).Key, false, func(b *store.Memory, key string) store.Keeper {
			return silent{b, key}
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b, before := fresh(), fresh()
			if x.collected {
				gc(t, b, collect.Policy{})
			}
			err := try(t, x.odd(b, x.key))
			if err == nil || fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), x.key) {
				t.Errorf("%s: Collect = %v, want a transient fault that names %s", name, err, x.key)
			}
			whole(t, name, b, before)
		})
	}
}

// hiding is a store whose LIST of everything leaves out a key.
type hiding struct {
	*store.Memory
	key string
}

func (h hiding) Ages(ctx context.Context, prefix string) ([]store.Aged, error) {
	all, err := h.Memory.Ages(ctx, prefix)
	if prefix == "" {
		all = slices.DeleteFunc(all, func(o store.Aged) bool { return o.Key == h.key })
	}

	return all, err
}

// TestADeletedRunKeepsItsRecordWhileAnythingIsLeft expects that objects of a deleted run that a LIST left out are
// removed later, because the record of the deletion remains.
func TestADeletedRunKeepsItsRecordWhileAnythingIsLeft(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b, small := fresh(), runs.Run("small")
		if err := remove(t, b, "small"); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := try(t, hiding{b, small.Slots(1).Key}); err != nil {
				t.Fatal(err)
			}
		}
		keys, err := store.Keys(t.Context(), b, small.Prefix())
		want := []string{small.Deleted().Key, small.Slots(1).Key, small.Spec().Key}
		if err != nil || !slices.Equal(keys, want) {
			t.Errorf("the store has %v, %v; want %v", keys, err, want)
		}
		gc(t, b, collect.Policy{})
		if left := list(t, b, small.Prefix()); len(left) > 0 {
			t.Errorf("%d objects are left, want none", len(left))
		}
	})
}

// begun is a store in which a run begins when its objects are copied into the trash.
type begun struct {
	*store.Memory
	run  runs.Run
	spec []byte
}

func (b begun) Copy(ctx context.Context, from, to string) error {
	if runs.NameOf(from) == string(b.run) {
		if _, err := b.PutOnce(ctx, b.run.Spec().Key, b.spec); err != nil {
			return err
		}
	}

	return b.Memory.Copy(ctx, from, to)
}

// TestARunThatBeginsWhileItIsRemovedStays lets an interrupted copy continue during its removal.
func TestARunThatBeginsWhileItIsRemovedStays(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b, late := fresh(), runs.Run("late")
		half(t, b, late)
		spec, err := b.Get(t.Context(), runs.Run("small").Spec().Key)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := try(t, begun{b, late, spec}); err != nil {
				t.Fatal(err)
			}
		}
		keys, err := store.Keys(t.Context(), b, late.Prefix())
		if want := []string{late.Change(1).Key, late.Spec().Key}; err != nil || !slices.Equal(keys, want) {
			t.Errorf("the store has %v, %v; want %v", keys, err, want)
		}
	})
}
