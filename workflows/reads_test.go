package workflows_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

// counting counts reads by the last part of their keys. Those of steps and of demonstrations are counted together.
type counting struct {
	store.Bucket

	mu    sync.Mutex
	reads map[string]int
}

// playCounting plays a run and counts its reads.
func playCounting(t *testing.T, s spec.Spec) (r *testrun.Run, reads map[string]int) {
	t.Helper()
	r = testrun.New(t, s)
	c := &counting{Bucket: r.Bucket, reads: map[string]int{}}
	r.Deps.Bucket = c
	play(t, r)

	return r, c.reads
}

func (c *counting) Get(ctx context.Context, key string) ([]byte, error) {
	name := key[strings.LastIndex(key, "/")+1:]
	for _, folder := range []string{"steps", "demonstrations"} {
		if strings.Contains(key, "/"+folder+"/") {
			name = folder
		}
	}
	c.mu.Lock()
	c.reads[name]++
	c.mu.Unlock()

	return c.Bucket.Get(ctx, key)
}

// The list of slots grows with their number, so what every slot reads of it would grow with the square.
func TestTheListOfSlotsIsNotReadForEverySlot(t *testing.T) {
	t.Parallel()
	reads := func(slots int) int {
		s := testrun.Tiny()
		s.Slots = slots
		_, reads := playCounting(t, s)

		return reads["slots.json"]
	}
	if few, many := reads(3), reads(12); few != many {
		t.Errorf("slots.json is read %d times for 3 slots and %d times for 12, want as often", few, many)
	}
}

// What a run reads grows with its demonstrations and slots, and not with its chunks. Each agent reads a number of steps
// that does not depend on the slots.
func TestEveryPartOfAnEpisodeIsReadOnceByThoseWhoNeedIt(t *testing.T) {
	t.Parallel()
	s := testrun.Tiny()
	s.Slots, s.FineTune.MaxChunks, s.FineTune.StopLow = 8, 3, 1
	r, reads := playCounting(t, s)
	slots, steps := 0, 0
	objects, err := r.Bucket.List(t.Context(), "runs/")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		switch {
		case strings.HasSuffix(o.Key, "/pairs.json"):
			slots++
		case strings.Contains(o.Key, "/steps/"):
			steps++
		}
	}

	drawn := s.Agents * min(slots, s.Serving.Canaries) // answers of rollouts that trainer and servers compare
	for name, want := range map[string]int{
		"steps":      steps + drawn, // also by whoever labels the episode
		"start.json": 0,
		// Whoever makes them looks for them first, and the commit reads them; the updates read the pairs together.
		"episode.json": 3*slots + drawn,
		"credit.json":  2 * slots,
		"pairs.json":   3 * slots,
		// Whoever plays them looks for them first; all chunks read them together.
		"demonstrations": 2 * s.FineTune.Demonstrations,
	} {
		if got := reads[name]; got != want {
			t.Errorf("%s: %d reads for %d slots and %d steps, want %d", name, got, slots, steps, want)
		}
	}
}
