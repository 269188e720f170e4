// Package hold decides which process may remove objects from a store, and what must not be removed. At most one process
// holds the lock of the collections, by means of objects that are written once and of the clock of the store's server.
// A process that writes the objects of a run before its specification marks the run, and waits until no collection is
// about to remove objects that it relies on.
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
	// Stale is the age of the newest entry at which the lock is free even if its owner has not released it.
	Stale = 10 * time.Minute
	// Window is how long after a renewal its owner may remove objects. A request sent in that time must reach the
	// server before another process can have the lock.
	Window = time.Minute

	renewal = 2 * time.Minute // while its owner only reads
)

// entry is one object of the lock. Entries have consecutive numbers and are never removed; the newest one counts.
type entry struct {
	Owner string `json:"owner"` // random, one per call of Do
	Who   string `json:"who"`
	Free  bool   `json:"free,omitempty"` // the owner has released the lock
}

func entryKey(n int) string { return fmt.Sprintf("gc/running/%06d.json", n) }

// Lock is the lock of a store, held by one process.
type Lock struct {
	// Number is the number of the entry with which the lock was taken. No other owner has it.
	Number int

	b      store.Keeper
	own    entry
	began  time.Time // by the clock of this machine
	server time.Time // time of the server at about the same moment

	writes  chan struct{} // full while an entry is written; guards the fields below
	newest  int           // number of the newest own entry
	renewed time.Time     // by the clock of this machine, shortly before that entry was written
}

// Do takes the lock, calls fn, and releases the lock. It returns an invalid fault if another process has the lock. If
// the lock is lost, the context of fn ends and Do returns a transient fault.
func Do(ctx context.Context, keeper store.Keeper, who string, fn func(context.Context, *Lock) error) error {
	lock := &Lock{b: keeper, own: entry{Owner: rand.Text(), Who: who}, writes: make(chan struct{}, 1)}
	if err := lock.take(ctx); err != nil {
		return err
	}
	held, lose := context.WithCancelCause(ctx)
	var keep sync.WaitGroup
	keep.Go(func() { lock.keep(held, lose) })

	err := fn(held, lock)
	cause := context.Cause(held)
	lose(nil)
	keep.Wait()
	lock.release(context.WithoutCancel(ctx))
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
	for newest := 0; ; newest++ { // someone else has written the entry after the newest one: look at that
		// No LIST is needed. If the store is late, the number is too small, and PutOnce finds the next key taken.
		if newest, err = store.Last(ctx, l.b, newest, entryKey); err != nil {
			return err
		}
		if newest > 0 {
			if err := l.free(ctx, newest); err != nil {
				return err
			}
		}
		l.renewed = time.Now()
		owned, err := l.put(ctx, newest+1, body)
		if err != nil {
			return err
		}
		if !owned {
			continue
		}
		l.Number = newest + 1
		l.newest = newest + 1
		l.server, err = l.b.Written(ctx, entryKey(l.Number))
		l.began = time.Now()

		return notShown(err)
	}
}

// put writes an entry, and reports whether the entry under that number belongs to this owner.
func (l *Lock) put(ctx context.Context, n int, body []byte) (bool, error) {
	created, err := l.b.PutOnce(ctx, entryKey(n), body)
	if err != nil || created {
		return created, err
	}
	existing, _, err := store.Must[entry](ctx, l.b, entryKey(n))

	return err == nil && existing.Owner == l.own.Owner, notShown(err)
}

// free returns an invalid fault unless the newest entry shows that the lock is free.
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

// notShown turns the error of reading an entry that must exist into a transient fault.
func notShown(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		err = fault.New(fault.Transient, "%v, although it was there just before: try again", err)
	}

	return err
}

// serverNow returns the time of the server, from an object that it writes and removes.
func serverNow(ctx context.Context, keeper store.Keeper) (time.Time, error) {
	key := "gc/clock/" + rand.Text() + ".json"
	defer func() { _ = keeper.Delete(context.WithoutCancel(ctx), key) }()
	if _, _, _, err := store.WriteOnce(ctx, keeper, key, struct{}{}); err != nil {
		return time.Time{}, err
	}
	now, err := keeper.Written(ctx, key)

	return now, notShown(err)
}

// Now returns the time of the server, or a slightly earlier time.
func (l *Lock) Now() time.Time { return l.server.Add(time.Since(l.began)) }

// keep renews the lock until ctx ends, and ends the lock's context if the lock is lost.
func (l *Lock) keep(ctx context.Context, lose context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(renewal):
		}
		if err := l.renew(ctx, renewal/2); err != nil && fault.KindOf(err) == errLost {
			lose(fault.As(fault.Transient, err))

			return
		}
	}
}

// errLost is wrapped by the error of renew if another process has the lock. Other errors may be temporary.
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
	for { // an own entry whose response was lost does not show when it was written
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
		newest, _, err := store.Must[entry](ctx, l.b, entryKey(l.newest+1))
		if err != nil {
			return notShown(err)
		}
		if newest.Owner != l.own.Owner {
			return fault.New(errLost, "%s has the lock of the store now, because this process had given no sign for "+
				"%v: nothing more was removed; begin again", newest.Who, Stale)
		}
		l.newest++
	}
}

// Turn calls remove with a context in which it may remove objects: the lock was renewed immediately before, and no
// other process has the lock until the context has ended.
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

// since is like time.Since, by the monotonic clock or by the calendar, whichever is longer: the monotonic clock may
// stop while a machine is suspended.
func since(at time.Time) time.Duration {
	return max(time.Since(at), time.Now().Round(0).Sub(at.Round(0)))
}

// release frees the lock once nothing else uses it here. If that fails, other processes wait until it is stale.
func (l *Lock) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, Window)
	defer cancel()
	free := l.own
	free.Free = true
	_ = l.write(ctx, free)
}
