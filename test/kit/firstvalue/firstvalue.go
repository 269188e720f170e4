// Package firstvalue tries whether a store keeps the first value that is recorded under a key. Only tests import it.
package firstvalue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/collabui/collabui/internal/store"
)

// callers is how many callers record a value concurrently.
const callers = 16

// Try records values under keys below a folder, one after the other and concurrently, and returns what is wrong: the
// first value must be what the store has, and what every caller gets.
func Try(ctx context.Context, b store.Bucket, folder string) error {
	return errors.Join(inTurn(ctx, b, folder+"turn.json"), atOnce(ctx, b, folder+"concurrent.json"))
}

// inTurn lets a second caller record another value, who does not look before it writes.
func inTurn(ctx context.Context, b store.Bucket, key string) error {
	first, _, wrote, err := store.WriteOnce(ctx, b, key, "first")
	if err != nil || !wrote || first != "first" {
		return fmt.Errorf("the first caller got %q, wrote it: %v, %v", first, wrote, err)
	}
	var all []error
	second, _, wrote, err := store.WriteOnce(ctx, b, key, "second")
	if err != nil || wrote || second != "first" {
		all = append(all, fmt.Errorf("the second caller got %q, wrote it: %v, %v; want the first value", second, wrote,
			err))
	}
	third, _, err := store.RecordOnce(ctx, b, key, func() (string, error) { return "third", nil })
	if err != nil || third != "first" {
		all = append(all, fmt.Errorf("the third caller got %q, %v; want the first value", third, err))
	}
	if kept, _, err := store.Must[string](ctx, b, key); err != nil || kept != "first" {
		all = append(all, fmt.Errorf("the store has %q, %v; want the first value", kept, err))
	}

	return errors.Join(all...)
}

// atOnce lets callers record values concurrently. None writes before all have looked and found nothing.
func atOnce(ctx context.Context, b store.Bucket, key string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seen, looked := &noting{Bucket: b}, make(chan struct{})
	var left atomic.Int32
	left.Store(callers)
	got, failed := make([]int, callers), make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			got[i], _, failed[i] = store.RecordOnce(ctx, seen, key, func() (int, error) {
				if left.Add(-1) == 0 {
					close(looked)
				}
				select {
				case <-looked:
					return i, nil
				case <-ctx.Done():
					return i, ctx.Err()
				}
			})
			if failed[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	if len(seen.created) != 1 {
		return fmt.Errorf("%d callers were told that they had written the object, want one", len(seen.created))
	}
	first, err := store.Unseal(key, seen.created[0])
	if err != nil {
		return err
	}
	kept, _, err := store.Must[int](ctx, b, key)
	if err != nil || fmt.Sprint(kept) != string(first) {
		return fmt.Errorf("the store has %d, %v; want the first value, %s", kept, err, first)
	}
	for i, v := range got {
		if v != kept {
			return fmt.Errorf("caller %d got %d, but the store has %d", i, v, kept)
		}
	}

	return nil
}

// noting notes the bodies of objects that the store says it has written.
type noting struct {
	store.Bucket

	mu      sync.Mutex
	created [][]byte
}

func (n *noting) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	created, err := n.Bucket.PutOnce(ctx, key, body)
	n.mu.Lock()
	defer n.mu.Unlock()
	if created {
		n.created = append(n.created, body)
	}

	return created, err
}
