package hold

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// signs is the interval at which a process that writes runs gives a sign. It is less than the least grace period.
const signs = 20 * time.Second

// Settle gives a sign, and returns when no collection is about to remove anything that it looked at before the sign.
type Settle func(ctx context.Context) error

// Write calls fn, which writes runs that do not exist yet. Meanwhile it gives signs under the runs, which keep
// collections from removing what fn has written. Before it writes the specifications, fn calls settle and checks that
// the store has everything else: objects written, or found, after settle has returned are not removed while signs are
// given. The marks of a process that has died expire, because they count as young objects of a run like any others.
// Only a store.Keeper ever loses objects, so other buckets get no marks.
func Write(
	ctx context.Context, bucket store.Bucket, what string, names []string,
	fn func(ctx context.Context, settle Settle) error,
) error {
	keeper, ok := bucket.(store.Keeper)
	if !ok || len(names) == 0 {
		return fn(ctx, func(context.Context) error { return nil })
	}
	w := &writer{b: keeper, what: what, id: rand.Text(), names: names, signs: make(chan struct{}, 1)}
	if err := w.sign(ctx); err != nil {
		return err
	}
	signing, cancel := context.WithCancel(ctx)
	var keep sync.WaitGroup
	keep.Go(func() { w.keep(signing) })
	err := fn(ctx, w.settle)
	cancel()
	keep.Wait()
	for _, key := range w.keys {
		_ = keeper.Delete(context.WithoutCancel(ctx), key)
	}

	return err
}

// writer gives signs.
type writer struct {
	b     store.Keeper
	what  string
	id    string
	names []string

	signs chan struct{} // full while a sign is given; guards the fields below
	keys  []string      // keys of the newest signs
	n     int
}

// keep gives signs until ctx ends. If one cannot be written, the next one follows in due time.
func (w *writer) keep(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(signs):
		}
		_ = w.sign(ctx)
	}
}

// sign writes another mark under every run, and removes the previous one.
func (w *writer) sign(ctx context.Context) error {
	w.signs <- struct{}{}
	defer func() { <-w.signs }()
	w.n++
	var keys []string
	for _, name := range w.names {
		mark := runs.Run(name).Mark(w.id, w.n)
		if _, _, _, err := mark.Write(ctx, w.b, runs.Mark{What: w.what}); err != nil {
			return err
		}
		keys = append(keys, mark.Key)
	}
	for _, key := range w.keys {
		_ = w.b.Delete(ctx, key)
	}
	w.keys = keys

	return nil
}

// settle is the Settle that Write passes to fn.
func (w *writer) settle(ctx context.Context) error {
	if err := w.sign(ctx); err != nil {
		return err
	}
	newest := 0
	for end := time.Now().Add(Window + signs); time.Now().Before(end); {
		var err error
		if newest, err = store.Last(ctx, w.b, newest, entryKey); err != nil || newest == 0 {
			return err
		}
		held, _, err := store.May[entry](ctx, w.b, entryKey(newest))
		if err != nil {
			return err
		}
		if held.Free {
			return nil
		}
		select {
		case <-ctx.Done():
			return fault.As(fault.Transient, context.Cause(ctx))
		case <-time.After(signs / 4):
		}
	}

	return nil
}
