package hold_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/hold"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// away is a store that its user cannot reach while it is frozen, whose server's clock may be behind, and that does not
// show every object at the first read.
type away struct {
	*store.Memory
	behind time.Duration

	mu    sync.Mutex
	till  chan struct{} // nil while it is not frozen
	stale map[string]bool
}

func (a *away) freeze() { a.mu.Lock(); defer a.mu.Unlock(); a.till = make(chan struct{}) }

func (a *away) thaw() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.till)
	a.till = nil
}

func (a *away) wait(ctx context.Context) error {
	a.mu.Lock()
	till := a.till
	a.mu.Unlock()
	if till != nil {
		<-till
	}

	return context.Cause(ctx)
}

func (a *away) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	if err := a.wait(ctx); err != nil {
		return false, err
	}

	return a.Memory.PutOnce(ctx, key, body)
}

func (a *away) Get(ctx context.Context, key string) ([]byte, error) {
	if err := a.wait(ctx); err != nil {
		return nil, err
	}
	a.mu.Lock()
	first := a.stale != nil && !a.stale[key]
	if first {
		a.stale[key] = true
	}
	a.mu.Unlock()
	if first {
		return nil, fmt.Errorf("%s: %w", key, store.ErrNotFound)
	}

	return a.Memory.Get(ctx, key)
}

func (a *away) Delete(ctx context.Context, key string) error {
	if err := a.wait(ctx); err != nil {
		return err
	}

	return a.Memory.Delete(ctx, key)
}

func (a *away) Written(ctx context.Context, key string) (time.Time, error) {
	at, err := a.Memory.Written(ctx, key)

	return at.Add(-a.behind), err
}

// held calls fn while ann holds the lock.
func held(t *testing.T, b store.Keeper, fn func()) {
	t.Helper()
	if err := take(t, b, "ann", fn); err != nil {
		t.Errorf("Do = %v, want the lock", err)
	}
}

func take(t *testing.T, b store.Keeper, who string, fn func()) error {
	t.Helper()

	return hold.Do(t.Context(), b, who, func(context.Context, *hold.Lock) error {
		fn()

		return nil
	})
}

func TestTwoDoNotHoldTheLockAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, lasts := range []time.Duration{0, 9 * time.Minute, 3 * hold.Stale} { // it is renewed all the while
			b := &away{Memory: &store.Memory{}, behind: 25 * time.Hour}
			for range 5 {
				held(t, b, func() {
					time.Sleep(lasts)
					err := take(t, b, "ben", func() { t.Errorf("ben has the lock, want it refused after %v", lasts) })
					if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "ann works on the store") {
						t.Errorf("a second Do after %v = %v, want it refused because of ann", lasts, err)
					}
				})
			}
		}
	})
}

// TestALockIsNotTakenTwiceFromAStoreThatIsLate lets every entry be absent at its first read.
func TestALockIsNotTakenTwiceFromAStoreThatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &away{Memory: &store.Memory{}}
		for range 20 {
			held(t, b, func() {})
		}
		held(t, b, func() {
			late := &away{Memory: b.Memory, stale: map[string]bool{}}
			err := take(t, late, "ben", func() { t.Error("ben has the lock, want it refused") })
			if fault.KindOf(err) != fault.Invalid && fault.KindOf(err) != fault.Transient {
				t.Errorf("a second Do = %v, want an invalid or a transient fault", err)
			}
		})
	})
}

// TestALockOfAProcessThatIsStoppedIsFree stops an owner for a while. Afterwards, the owner must neither remove anything
// nor release the lock of the next owner.
func TestALockOfAProcessThatIsStoppedIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &store.Memory{}
		slow := &away{Memory: b}
		removed, done := errors.New("not called"), make(chan error, 1)
		go func() {
			done <- hold.Do(t.Context(), slow, "ann", func(ctx context.Context, l *hold.Lock) error {
				slow.freeze()
				_ = slow.wait(ctx)
				removed = l.Turn(ctx, func(ctx context.Context) error { return slow.Delete(ctx, "x") })

				return removed
			})
		}()
		time.Sleep(hold.Stale - 2*time.Minute)
		if err := take(t, b, "ben", func() {}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("Do before the lock is stale = %v, want it refused", err)
		}
		time.Sleep(3 * time.Minute)
		if err := take(t, b, "ben", func() {
			slow.thaw()
			if err := <-done; fault.KindOf(err) != fault.Transient || removed == nil {
				t.Errorf("the slow owner: %v, and it removes with %v; want a transient fault", err, removed)
			}
			if err := take(t, b, "cid", func() {}); fault.KindOf(err) != fault.Invalid {
				t.Errorf("Do while ben has the lock = %v, want it refused", err)
			}
		}); err != nil {
			t.Errorf("Do when the lock is stale = %v, want the lock", err)
		}
	})
}

// TestAnOwnerRemovesForAMinuteAtMost lets every removal hang until its context ends, shortly after the lock was renewed
// and long after that.
func TestAnOwnerRemovesForAMinuteAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := hold.Do(t.Context(), &store.Memory{}, "ann", func(ctx context.Context, l *hold.Lock) error {
			for _, later := range []time.Duration{0, 20 * time.Second, time.Hour} {
				time.Sleep(later)
				began := time.Now()
				err := l.Turn(ctx, func(ctx context.Context) error {
					<-ctx.Done()

					return context.Cause(ctx)
				})
				if took := time.Since(began); fault.KindOf(err) != fault.Transient || took > hold.Window {
					t.Errorf("a turn %v later ends after %v with %v, want %v at most and a transient fault",
						later, took, err, hold.Window)
				}
			}

			return nil
		})
		if err != nil {
			t.Errorf("Do = %v, want nil", err)
		}
	})
}

// TestAWriterWaitsForACollectionThatDidNotSeeItsMark expects that the writer waits for that collection only.
func TestAWriterWaitsForACollectionThatDidNotSeeItsMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &store.Memory{}
		var waited time.Duration
		write := func() {
			err := hold.Write(t.Context(), b, "a copy", []string{"x"},
				func(ctx context.Context, settle hold.Settle) error {
					marks, err := b.List(ctx, runs.Run("x").Prefix())
					if err != nil || len(marks) != 1 || !runs.IsMark(marks[0].Key) {
						t.Errorf("the run has %v, %v; want a mark", marks, err)
					}
					time.Sleep(time.Hour)
					began := time.Now()
					err = settle(ctx)
					waited = time.Since(began)

					return err
				})
			if left, _ := b.List(t.Context(), runs.Run("x").Prefix()); err != nil || len(left) > 0 {
				t.Errorf("Write = %v and left %v, want no mark", err, left)
			}
		}
		write()
		if waited > 0 {
			t.Errorf("it waited for %v, want no wait while nothing is collected", waited)
		}
		held(t, b, write)
		if waited < hold.Window || waited > 2*hold.Window {
			t.Errorf("it waited for %v, want a little more than %v", waited, hold.Window)
		}
		write()
		if waited > 0 {
			t.Errorf("it waited for %v, want no wait after the collection", waited)
		}
	})
}
