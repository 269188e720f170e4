package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/store"
)

// careless is a store that breaks one promise.
type careless struct {
	*store.Memory
	breaks string
}

func (c *careless) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	if c.breaks == "If-None-Match" {
		c.Damage(key, body)

		return true, nil
	}

	return c.Memory.PutOnce(ctx, key, body)
}

func (c *careless) Get(ctx context.Context, key string) ([]byte, error) {
	if c.breaks == "as soon as" {
		return nil, store.ErrNotFound
	}

	return c.Memory.Get(ctx, key)
}

func (c *careless) List(ctx context.Context, prefix string) ([]store.Ref, error) {
	if c.breaks == "a list lacks" {
		return nil, nil
	}

	return c.Memory.List(ctx, prefix)
}

func TestAStoreThatBreaksAPromiseIsFound(t *testing.T) {
	t.Parallel()
	for _, breaks := range []string{"", "If-None-Match", "as soon as", "a list lacks"} {
		c := &careless{Memory: &store.Memory{}, breaks: breaks}
		got, err := store.Promises(t.Context(), c)
		if err != nil || !strings.Contains(got, breaks) || (got == "") != (breaks == "") {
			t.Errorf("Promises = %q, %v; want %q", got, err, breaks)
		}
		if left, err := c.Memory.List(t.Context(), ""); err != nil || len(left) > 0 {
			t.Errorf("Promises leaves %v, %v; want nothing", left, err)
		}
	}
}
