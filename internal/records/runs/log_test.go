package runs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// late is a store that does not show some objects at first, each for a number of reads.
type late struct {
	store.Bucket
	reads map[string]int
}

func (l late) Get(ctx context.Context, key string) ([]byte, error) {
	if l.reads[key] > 0 {
		l.reads[key]--

		return nil, fmt.Errorf("%s: %w", key, store.ErrNotFound)
	}

	return l.Bucket.Get(ctx, key)
}

func TestALogDoesNotEndWhereAnObjectIsNotShown(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	log := runs.Log[int](func(n int) runs.Object[int] {
		return runs.Object[int]{Key: fmt.Sprintf("log/%04d.json", n)}
	})
	for length := range 20 {
		m := &store.Memory{}
		for n := 1; n <= length; n++ {
			if _, _, _, err := log(n).Write(ctx, m, n); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := log.End(ctx, m, 0); n != length || err != nil {
			t.Errorf("End of %d = %d, %v; want %[1]d", length, n, err)
		}
		for hidden := 1; hidden <= length; hidden++ {
			without := func(reads int) late { return late{m, map[string]int{log(hidden).Key: reads}} }
			if n, err := log.End(ctx, without(1), 0); err == nil && n != length {
				t.Errorf("End of %d without %d = %d, want %[1]d or a fault", length, hidden, n)
			}
			if all, err := log.After(ctx, without(1), 0, 0); len(all) != length || err != nil {
				t.Errorf("After of %d without %d once = %v, %v; want all", length, hidden, all, err)
			}
			if all, err := log.After(ctx, without(2), 0, 0); !errors.Is(err, store.ErrAbsent) {
				t.Errorf("After of %d without %d = %v, %v; want that it is absent", length, hidden, all, err)
			}
		}
		if all, err := log.After(ctx, m, 0, length+1); !errors.Is(err, store.ErrAbsent) {
			t.Errorf("After of %d with %d known = %v, %v; want that one is absent", length, length+1, all, err)
		}
	}
}
