package collect_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/care/transfer"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// listing is a store whose LISTs show only some keys.
type listing struct {
	*store.Memory
	shows func(i int, key string) bool
}

func (l listing) List(ctx context.Context, prefix string) ([]store.Ref, error) {
	all, err := l.Ages(ctx, prefix)
	out := make([]store.Ref, len(all))
	for i, o := range all {
		out[i] = o.Ref
	}

	return out, err
}

func (l listing) Ages(ctx context.Context, prefix string) ([]store.Aged, error) {
	all, err := l.Memory.Ages(ctx, prefix)
	var out []store.Aged
	for i, o := range all {
		if l.shows(i, o.Key) {
			out = append(out, o)
		}
	}

	return out, err
}

// try collects after the grace period has passed, whether or not that succeeds.
func try(t *testing.T, b store.Keeper) error {
	t.Helper()
	time.Sleep(grace + time.Minute)
	_, err := collect.Collect(t.Context(), b, collect.Policy{Grace: grace}, false, func(int, int) {})

	return err
}

// whole checks that small has not changed, apart from checkpoints.
func whole(t *testing.T, what string, b, before *store.Memory) {
	t.Helper()
	lost := 0
	for _, o := range list(t, before, runs.Run("small").Prefix()) {
		if _, err := b.Get(t.Context(), o.Key); err != nil && !strings.Contains(o.Key, "-checkpoint-") {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%s: %d objects of the run are lost, want it whole", what, lost)
	}
	report, err := verify.Fsck(t.Context(), b)
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("%s: fsck found %v, %v; want no problems", what, report.Problems, err)
	}
}

// TestOneOmittedKeyOfAListRemovesNoRun lets every LIST leave out one key, in a store that is collected for the first
// time and in one that was collected before.
func TestOneOmittedKeyOfAListRemovesNoRun(t *testing.T) {
	fresh := finished(t)
	keys, err := store.Keys(t.Context(), fresh(), runs.Run("small").Prefix())
	if err != nil {
		t.Fatal(err)
	}
	omitted := []string{runs.Run("small").Spec().Key, runs.Run("small").Epoch(1).Key, runs.Run("small").Base().Key}
	for i := 0; i < len(keys); i += 40 {
		omitted = append(omitted, keys[i])
	}
	for _, key := range omitted {
		for _, collected := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				b, before := fresh(), fresh()
				if collected {
					gc(t, b, collect.Policy{})
				}
				left := listing{b, func(_ int, k string) bool { return k != key }}
				for range 4 {
					_ = try(t, left)
				}
				gc(t, b, collect.Policy{})
				whole(t, "without "+key, b, before)
			})
		}
	}
}

// TestATruncatedListRemovesNothing cuts LISTs short at several places. The last LIST is whole.
func TestATruncatedListRemovesNothing(t *testing.T) {
	fresh := finished(t)
	for tenths := 1; tenths < 10; tenths += 2 {
		for _, collected := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				b, before := fresh(), fresh()
				forked(t, b, "longer", nil)
				if collected {
					gc(t, b, collect.Policy{})
				}
				all := len(list(t, b, ""))
				cut := listing{b, func(i int, _ string) bool { return i < all*tenths/10 }}
				for range 4 {
					_ = try(t, cut)
				}
				gc(t, b, collect.Policy{})
				whole(t, "cut", b, before)
				if problems, err := verify.Run(t.Context(), b, "longer"); err != nil || len(problems) > 0 {
					t.Errorf("the validators found %v, %v; want no problems", problems, err)
				}
			})
		}
	}
}

// late is a store that writes blobs slowly.
type late struct {
	store.Keeper
	by time.Duration
}

func (l late) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	if store.IsBlob(key) {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(l.by):
		}
	}

	return l.Keeper.PutOnce(ctx, key, body)
}

// TestACopyThatTakesLongerThanTheGraceLosesNothing collects the target meanwhile.
func TestACopyThatTakesLongerThanTheGraceLosesNothing(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		from, to := fresh(), &store.Memory{}
		done := make(chan error, 1)
		go func() {
			_, err := transfer.Runs(t.Context(), from, late{to, 5 * grace}, []string{"small"}, func(int, int) {})
			done <- err
		}()
		var err error
		for copying := true; copying; {
			gc(t, to, collect.Policy{})
			select {
			case err = <-done:
				copying = false
			default:
			}
		}
		if err != nil {
			t.Fatalf("the copy = %v, want no error", err)
		}
		for range 3 {
			gc(t, to, collect.Policy{})
		}
		whole(t, "the copy", to, from)
		if problems, err := verify.Run(t.Context(), to, "small"); err != nil || len(problems) > 0 {
			t.Errorf("the validators found %v, %v; want no problems", problems, err)
		}
	})
}

// frozen is a store that its user cannot reach for a time, after a number of requests that change something.
type frozen struct {
	*store.Memory
	after int
	till  chan struct{}

	mu      sync.Mutex
	changes int
}

func (f *frozen) wait(ctx context.Context, counts bool) error {
	f.mu.Lock()
	if counts {
		f.changes++
	}
	stop := f.changes >= f.after
	f.mu.Unlock()
	if stop {
		<-f.till
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}

	return nil
}

func (f *frozen) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	if err := f.wait(ctx, false); err != nil {
		return false, err
	}

	return f.Memory.PutOnce(ctx, key, body)
}

func (f *frozen) Copy(ctx context.Context, from, to string) error {
	if err := f.wait(ctx, true); err != nil {
		return err
	}

	return f.Memory.Copy(ctx, from, to)
}

func (f *frozen) Delete(ctx context.Context, key string) error {
	if err := f.wait(ctx, true); err != nil {
		return err
	}

	return f.Memory.Delete(ctx, key)
}

// TestASlowCollectorBesideASecondLosesNothing freezes a collector at some of its requests for a day, in which others
// collect, and former garbage is needed again.
func TestASlowCollectorBesideASecondLosesNothing(t *testing.T) {
	garbage := [][]byte{[]byte("one"), []byte("two"), []byte("three")}
	for after := 1; after <= 9; after++ {
		synctest.Test(t, func(t *testing.T) {
			b := &store.Memory{}
			var refs []store.Ref
			for _, body := range garbage {
				ref, err := store.PutBlob(t.Context(), b, body)
				if err != nil {
					t.Fatal(err)
				}
				refs = append(refs, ref)
			}
			if after > 6 {
				gc(t, b, collect.Policy{})
			}
			time.Sleep(2 * grace)
			slow := &frozen{Memory: b, after: after, till: make(chan struct{})}
			done := make(chan error, 1)
			go func() {
				_, err := collect.Collect(t.Context(), slow, collect.Policy{Grace: grace}, false, func(int, int) {})
				done <- err
			}()
			time.Sleep(24 * grace)
			gc(t, b, collect.Policy{})
			for _, body := range garbage { // a process finds the blobs, and records them within the grace period
				if _, err := store.PutBlob(t.Context(), b, body); err != nil {
					t.Fatal(err)
				}
			}
			close(slow.till)
			if err := <-done; err == nil && after < 5 {
				t.Errorf("the slow collector, frozen at change %d, ended without an error, want that it lost its lock",
					after)
			}
			note := runs.Object[[]store.Ref]{Key: "notes/a.json"}
			if _, _, err := note.Record(t.Context(), b, func() ([]store.Ref, error) { return refs, nil }); err != nil {
				t.Fatal(err)
			}
			for i, ref := range refs {
				got, err := store.GetBlob(t.Context(), b, ref.SHA256)
				if err != nil || !slices.Equal(got, garbage[i]) {
					t.Errorf("frozen at change %d: blob %d is %q, %v; want it kept", after, i, got, err)
				}
			}
		})
	}
}

// ahead is a store whose server's clock is behind the clocks of its users.
type ahead struct {
	*store.Memory
	by time.Duration
}

func (a ahead) Ages(ctx context.Context, prefix string) ([]store.Aged, error) {
	all, err := a.Memory.Ages(ctx, prefix)
	for i := range all {
		all[i].Written = all[i].Written.Add(-a.by)
	}

	return all, err
}

func (a ahead) Written(ctx context.Context, key string) (time.Time, error) {
	at, err := a.Memory.Written(ctx, key)

	return at.Add(-a.by), err
}

// TestAClockThatIsAheadRemovesNothingYoung collects on a machine whose clock is a day ahead.
func TestAClockThatIsAheadRemovesNothingYoung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &store.Memory{}
		ref, err := store.PutBlob(t.Context(), b, []byte("young"))
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			time.Sleep(time.Minute)
			p := collect.Policy{Grace: grace}
			if _, err := collect.Collect(t.Context(), ahead{b, 24 * grace}, p, false, func(int, int) {}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Get(t.Context(), ref.Key); err != nil {
			t.Errorf("a blob of four minutes: %v, want it kept", err)
		}
	})
}
