package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/collabui/collabui/internal/store"
)

// TestRecordOnceGivesEveryCallerTheFirstValue includes a server that ignores If-None-Match, to show what the test
// detects.
func TestRecordOnceGivesEveryCallerTheFirstValue(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]store.Bucket{"memory": &store.Memory{}, "S3": (&faulty{}).open(t)} {
		if err := recordAtOnce(t.Context(), b, "tried/concurrent.json"); err != nil {
			t.Errorf("%s: %v, want the first value everywhere", name, err)
		}
	}

	err := recordAtOnce(t.Context(), (&faulty{deaf: true}).open(t), "tried/concurrent.json")
	if want := "callers were told that they had written"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a server that ignores If-None-Match: %v, want %q", err, want)
	}
}

// callers is the number of concurrent callers that record a value.
const callers = 16

// recordAtOnce lets callers record values concurrently, and returns an error if something is wrong: the store, and
// every caller, must get the first value. No caller writes before all have looked and found nothing.
func recordAtOnce(ctx context.Context, b store.Bucket, key string) error {
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

// noting records the bodies of the objects that the store reports as written.
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
