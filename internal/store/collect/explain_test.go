package collect_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/collect"
	"github.com/collabui/collabui/internal/store/runs"
)

// TestManyRunsWithoutASpecificationAreNotRemovedAtOnce: three copies that were cut short are unusual in a small store,
// and two are not.
func TestManyRunsWithoutASpecificationAreNotRemovedAtOnce(t *testing.T) {
	fresh := finished(t)
	for _, n := range []int{2, 3} {
		synctest.Test(t, func(t *testing.T) {
			b := fresh()
			for i := range n {
				half := runs.Run(fmt.Sprintf("half-%d", i)).Change(1)
				if _, _, _, err := half.Write(t.Context(), b, runs.Change{Who: "ann", Verb: runs.VerbPause}); err != nil {
					t.Fatal(err)
				}
			}
			var err error
			for range 3 {
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

// TestADeletedRunKeepsItsRecordWhileAnythingIsLeft: what a LIST left out of a deleted run is removed later, by the
// record of the deletion.
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
