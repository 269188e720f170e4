package collect_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/care/transfer"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// stopped is a store whose user waits before it first writes an object, while do runs. If it is frozen, it gives no
// signs meanwhile.
type stopped struct {
	*store.Memory
	key    string
	frozen bool
	do     func()

	one  chan struct{} // full while an object is written
	done bool
}

func (s *stopped) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	if !s.frozen && runs.IsMark(key) {
		return s.Memory.PutOnce(ctx, key, body)
	}
	s.one <- struct{}{}
	defer func() { <-s.one }()
	if key == s.key && !s.done {
		s.done = true
		s.do()
	}

	return s.Memory.PutOnce(ctx, key, body)
}

// own returns the keys of a run's objects, without marks.
func own(t *testing.T, b store.Bucket, name string) []string {
	t.Helper()
	keys, err := store.Keys(t.Context(), b, runs.Run(name).Prefix())
	if err != nil {
		t.Fatal(err)
	}

	return slices.DeleteFunc(keys, runs.IsMark)
}

// TestAForkThatTakesLongerThanTheGraceLosesNothing lets a fork wait at some of its writes, and collects meanwhile.
func TestAForkThatTakesLongerThanTheGraceLosesNothing(t *testing.T) {
	fresh := finished(t)
	typed := map[string]string{"train.beta": "0.3"}
	undisturbed := fresh()
	forked(t, undisturbed, "longer", typed)
	want := own(t, undisturbed, "longer")
	x := runs.Run("longer")
	for _, frozen := range []bool{false, true} {
		for _, key := range []string{
			x.Change(1).Key, x.Base().Key, want[len(want)/2], x.Made(2).Key, x.Past().Key, x.Spec().Key,
		} {
			t.Run(fmt.Sprintf("%s, frozen %v", key, frozen), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { stopAt(t, fresh(), key, frozen, typed, want) })
			})
		}
	}
}

// TestACopyThatStandsStillForLongerThanTheGraceLosesNothing stops the process of a copy at some of its writes, so that
// it gives no signs, and collects the target meanwhile.
func TestACopyThatStandsStillForLongerThanTheGraceLosesNothing(t *testing.T) {
	fresh := finished(t)
	x := runs.Run("small")
	for _, key := range []string{x.Base().Key, x.Slots(2).Key, x.Epoch(2).Key, x.End().Key, x.Spec().Key} {
		t.Run(key, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from, to := fresh(), &store.Memory{}
				paused := &stopped{Memory: to, key: key, frozen: true, one: make(chan struct{}, 1), do: func() {
					for range 3 {
						gc(t, to, collect.Policy{})
					}
				}}
				_, err := transfer.Runs(t.Context(), from, paused, []string{"small"}, func(int, int) {})
				if err != nil {
					t.Fatal(err)
				}
				gc(t, to, collect.Policy{})
				whole(t, "the copy", to, from)
			})
		})
	}
}

// stopAt makes a fork that waits before it writes an object, and checks that the fork has the wanted objects.
func stopAt(t *testing.T, b *store.Memory, key string, frozen bool, typed map[string]string, want []string) {
	t.Helper()
	forked(t, &stopped{Memory: b, key: key, frozen: frozen, one: make(chan struct{}, 1), do: func() {
		for range 3 {
			gc(t, b, collect.Policy{})
		}
	}}, "longer", typed)
	for range 2 {
		gc(t, b, collect.Policy{})
	}
	if got := own(t, b, "longer"); !slices.Equal(got, want) {
		t.Errorf("the fork has %d objects, want %d", len(got), len(want))
	}
	clean(t, b)
	if problems, err := verify.Run(t.Context(), b, "longer"); err != nil || len(problems) > 0 {
		t.Errorf("the validators found %v, %v; want no problems", problems, err)
	}
}
