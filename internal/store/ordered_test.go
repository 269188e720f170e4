package store_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/store"
)

func TestInOrderReadsConcurrentlyAndPassesOnInOrder(t *testing.T) {
	var open, most atomic.Int64
	var got []int
	err := store.InOrder(t.Context(), 200, func(_ context.Context, i int) (int, error) {
		most.Store(max(most.Load(), open.Add(1)))
		time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
		open.Add(-1)

		return i * i, nil
	}, func(i, v int) error {
		if v != i*i || i != len(got) {
			t.Errorf("got %d as value %d, want %d as value %d", v, i, len(got)*len(got), len(got))
		}
		got = append(got, v)

		return nil
	})
	if err != nil || len(got) != 200 {
		t.Errorf("got %d values and error %v, want 200 and none", len(got), err)
	}
	if n := most.Load(); n < 2 || n > 40 {
		t.Errorf("got %d concurrent reads, want several, but not all", n)
	}
}

func TestInOrderEndsWithTheFirstError(t *testing.T) {
	broken := errors.New("broken")
	read := func(_ context.Context, i int) (int, error) {
		if i == 50 {
			return 0, broken
		}

		return i, nil
	}
	err := store.InOrder(t.Context(), 1000, read, func(int, int) error { return nil })
	if !errors.Is(err, broken) {
		t.Errorf("reading: got %v, want %v", err, broken)
	}
	good := func(_ context.Context, i int) (int, error) { return i, nil }
	err = store.InOrder(t.Context(), 1000, good, func(i, _ int) error {
		if i == 7 {
			return broken
		}

		return nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("using: got %v, want %v", err, broken)
	}
}
