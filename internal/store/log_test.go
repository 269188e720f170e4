package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/collabui/collabui/internal/store"
)

// counting counts reads, and answers none once it is broken.
type counting struct {
	store.Bucket
	reads  int
	broken error
}

func (c *counting) Get(ctx context.Context, key string) ([]byte, error) {
	if c.reads++; c.broken != nil {
		return nil, c.broken
	}

	return c.Bucket.Get(ctx, key)
}

func entry(n int) string { return fmt.Sprintf("log/%08d.json", n) }

func TestTheEndOfALogIsFoundWithFewReads(t *testing.T) {
	t.Parallel()
	b := &counting{Bucket: &store.Memory{}}
	for n := range 70 {
		for after := range n + 1 {
			b.reads = 0
			got, err := store.Last(t.Context(), b, after, entry)
			if err != nil || got != n || b.reads > 14 {
				t.Errorf("Last of %d entries after %d = %d, %v with %d reads; want %d with at most 14",
					n, after, got, err, b.reads, n)
			}
		}
		if _, err := b.PutOnce(t.Context(), entry(n+1), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}

	b.broken = errors.New("no connection")
	if _, err := store.Last(t.Context(), b, 0, entry); !errors.Is(err, b.broken) {
		t.Errorf("Last of a store that does not answer = %v, want %v", err, b.broken)
	}
}
