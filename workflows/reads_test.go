package workflows_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

// counting counts reads by the last part of their keys.
type counting struct {
	store.Bucket

	mu    sync.Mutex
	reads map[string]int
}

func (c *counting) Get(ctx context.Context, key string) ([]byte, error) {
	c.mu.Lock()
	c.reads[key[strings.LastIndex(key, "/")+1:]]++
	c.mu.Unlock()

	return c.Bucket.Get(ctx, key)
}

// The list of slots grows with their number, so what every slot reads of it would grow with the square.
func TestTheListOfSlotsIsNotReadForEverySlot(t *testing.T) {
	t.Parallel()
	reads := func(slots int) int {
		s := testrun.Tiny()
		s.Slots = slots
		r := testrun.New(t, s)
		c := &counting{Bucket: r.Bucket, reads: map[string]int{}}
		r.Deps.Bucket = c
		play(t, r)

		return c.reads["slots.json"]
	}
	if few, many := reads(3), reads(12); few != many {
		t.Errorf("slots.json is read %d times for 3 slots and %d times for 12, want as often", few, many)
	}
}
