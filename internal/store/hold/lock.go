// Package hold decides which process may remove objects from a store, and what must not be removed. At most one process
// holds the lock of the collections, by objects that are written once and by the clock of the store's server. A process
// that writes the objects of a run before its specification marks the run, and waits for what a collection may still be
// about to remove.
package hold

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// Times of the lock.
const (
	// Stale is the age of the newest entry at which the lock is free, although its owner has not released it.
	Stale = 10 * time.Minute
	// Window is how long after a renewal its owner may remove objects. A request that was sent then must have reached
	// the server before another process can have the lock.
	Window = time.Minute

	renewal = 2 * time.Minute // while its owner only reads
)

// entry is one object of the lock. Entries have consecutive numbers and are never removed; the newest one counts.
type entry struct {
	Owner string `json:"owner"` // random, of one call of Do
	Who   string `json:"who"`
	Free  bool   `json:"free,omitempty"` // the owner has released the lock
}

func entryKey(n int) string { return fmt.Sprintf("gc/running/%06d.json", n) }

// Lock is held by one process.
type Lock struct {
	// Number is that of the entry with which the lock was taken. No other owner has it.
	Number int

	b      store.Keeper
	own    entry
	began  time.Time // here
	server time.Time // at about that time

	writes  chan struct{} // full while an entry is written, which guards what follows
	newest  int           // number of the newest own entry
	renewed time.Time     // here, just before that was written
}

// Do takes the lock, calls fn, and releases the lock. It is an invalid fault if another process has the lock. The
// context of fn ends when the lock is lost, and Do returns a transient fault then.
func Do(ctx context.Context, b store.Keeper, who string, fn func(context.Context, *Lock) error) error {
	l := &Lock{b: b, own: entry{Owner: rand.Text(), Who: who}, writes: make(chan struct{}, 1)}
	if err := l.take(ctx); err != nil {
		return err
	}
	within, lost := context.WithCancelCause(ctx)
	var keep sync.WaitGroup
	keep.Go(func() { l.keep(within, lost) })

	err := fn(within, l)
	cause := context.Cause(within)
	lost(nil)
	keep.Wait()
	l.release(context.WithoutCancel(ctx))
	if err != nil && cause != nil {
		err = cause
	}

	return err
}

// take writes the entry after the newest one, if that is free.
func (l *Lock) take(ctx context.Context) error {
	body, err := store.Seal(l.own)
	if err != nil {
		return err
	}
	for newest := 0; ; newest++ { // somebody else has written the entry after the newest one: look at that
		// No LIST is needed. If the store is late, the number is too small, and PutOnce finds the next one taken.
		if newest, err = store.Last(ctx, l.b, newest, entryKey); err != nil {
			return err
		}
		if newest > 0 {
			if err := l.free(ctx, newest); err != nil {
				return err
			}
		}
		l.renewed = time.Now()
		mine, err := l.put(ctx, newest+1, body)
		if err != nil {
			return err
		}
		if !mine {
			continue
		}
		l.Number, l.newest = newest+1, newest+1
		l.server, err = l.b.Written(ctx, entryKey(l.Number))
		l.began = time.Now()

		return notShown(err)
	}
}

// put writes an entry, and reports whether the entry under that number is of this owner.
func (l *Lock) put(ctx context.Context, n int, body []byte) (bool, error) {
	created, err := l.b.PutOnce(ctx, entryKey(n), body)
	if err != nil || created {
		return created, err
	}
	there, _, err := store.Must[entry](ctx, l.b, entryKey(n))

	return err == nil && there.Owner == l.own.Owner, notShown(err)
}

// free is an invalid fault unless the lock is free after its newest entry.
func (l *Lock) free(ctx context.Context, newest int) error {
	held, _, err := store.Must[entry](ctx, l.b, entryKey(newest))
	if err != nil || held.Free {
		return notShown(err)
	}
	written, err := l.b.Written(ctx, entryKey(newest))
	if err != nil {
		return notShown(err)
	}
	now, err := serverNow(ctx, l.b)
	if err != nil {
		return err
	}
	if age := now.Sub(written); age < Stale {
		return fault.New(fault.Invalid, "%s works on the store with gc or delete --undo, and has given a sign %v ago: "+
			"wait until that has ended. If that process has died, begin again in %v", held.Who, age.Round(time.Second),
			(Stale - age).Round(time.Second))
	}

	return nil
}

// notShown turns the error of an entry that must exist into a transient fault.
func notShown(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		err = fault.New(fault.Transient, "%v, although it was there just before: try again", err)
	}

	return err
}

// serverNow returns the time of the server, by an object that it writes and removes.
func serverNow(ctx context.Context, b store.Keeper) (time.Time, error) {
	key := "gc/clock/" + rand.Text() + ".json"
	defer func() { _ = b.Delete(context.WithoutCancel(ctx), key) }()
	if _, _, _, err := store.WriteOnce(ctx, b, key, struct{}{}); err != nil {
		return time.Time{}, err
	}
	now, err := b.Written(ctx, key)

	return now, notShown(err)
}

// Now returns the time of the server, or a little less.
func (l *Lock) Now() time.Time { return l.server.Add(time.Since(l.began)) }

// keep renews the lock until ctx ends, and ends it if the lock is lost.
func (l *Lock) keep(ctx context.Context, lost context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(renewal):
		}
		if err := l.renew(ctx, renewal/2); err != nil && fault.KindOf(err) == errLost {
			lost(fault.As(fault.Transient, err))

			return
		}
	}
}

// errLost is the kind of the error of renew if another process has the lock. Other errors may pass.
const errLost = fault.Invalid

// renew writes another entry unless the newest one is young.
func (l *Lock) renew(ctx context.Context, young time.Duration) error {
	l.writes <- struct{}{}
	defer func() { <-l.writes }()
	if since(l.renewed) < young {
		return nil
	}

	return l.write(ctx, l.own)
}

// write writes an entry after the newest one.
func (l *Lock) write(ctx context.Context, e entry) error {
	body, err := store.Seal(e)
	if err != nil {
		return err
	}
	for { // an own entry whose answer was lost does not show when it was written
		at := time.Now()
		created, err := l.b.PutOnce(ctx, entryKey(l.newest+1), body)
		if err != nil {
			return err
		}
		if created {
			l.newest++
			l.renewed = at

			return nil
		}
		there, _, err := store.Must[entry](ctx, l.b, entryKey(l.newest+1))
		if err != nil {
			return notShown(err)
		}
		if there.Owner != l.own.Owner {
			return fault.New(errLost, "%s has the lock of the store now, because this process had given no sign for "+
				"%v: nothing more was removed; begin again", there.Who, Stale)
		}
		l.newest++
	}
}

// Turn calls remove with a context in which it may remove objects: the lock was renewed just before, and another
// process has it only when the context has ended.
func (l *Lock) Turn(ctx context.Context, remove func(context.Context) error) error {
	if err := l.renew(ctx, Window/2); err != nil {
		return fault.As(fault.Transient, err)
	}
	l.writes <- struct{}{}
	end := l.renewed.Add(Window)
	<-l.writes
	ctx, cancel := context.WithDeadlineCause(ctx, end, fault.New(fault.Transient,
		"the store was too slow: the next collection continues"))
	defer cancel()
	if time.Now().Round(0).After(end.Round(0)) { // this machine was stopped, and its monotonic clock with it
		cancel()
	}

	return remove(ctx)
}

// since is time.Since by the monotonic clock or by the calendar, whichever is longer: machines that are stopped for a
// while may stop the monotonic clock.
func since(t time.Time) time.Duration { return max(time.Since(t), time.Now().Round(0).Sub(t.Round(0))) }

// release lets others have the lock, when nothing else uses it here. If that fails, they wait until it is stale.
func (l *Lock) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, Window)
	defer cancel()
	free := l.own
	free.Free = true
	_ = l.write(ctx, free)
}
