package runs_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// counted counts reads.
type counted struct {
	store.Bucket
	reads int
}

func (c *counted) Get(ctx context.Context, key string) ([]byte, error) {
	c.reads++

	return c.Bucket.Get(ctx, key)
}

// noted returns a note of a person at a minute of the day.
func noted(who string, minute int) runs.Change {
	return runs.Change{
		Who: who, Why: "so", Verb: runs.VerbNote, At: time.Date(2026, 11, 28, 0, minute, 0, 0, time.UTC),
	}
}

func TestTheRequestsOfAChangeDoNotGrowWithTheirNumber(t *testing.T) {
	t.Parallel()
	b := &counted{Bucket: &store.Memory{}}
	run := runs.Run("small")
	for n := 1; n <= 300; n++ {
		b.reads = 0
		got, err := run.Append(t.Context(), b, noted("ann", 30*n))
		if err != nil || got != n || b.reads > 40 {
			t.Fatalf("change %d: Append = %d, %v with %d reads; want %[1]d with at most 40", n, got, err, b.reads)
		}
	}
	if got, err := run.Append(t.Context(), b, noted("ann", 30*297)); err != nil || got != 297 {
		t.Errorf("Append of change 297 again = %d, %v; want 297", got, err)
	}
}

func TestChangesOfManyPeopleAreAllRecordedOnce(t *testing.T) {
	t.Parallel()
	b := &store.Memory{}
	run := runs.Run("small")
	const people, each = 8, 20
	var all sync.WaitGroup
	for i := range people {
		all.Go(func() {
			for n := range each {
				for range 2 { // the response to the first one was lost
					if _, err := run.Append(t.Context(), b, noted(fmt.Sprint("person ", i), n)); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	changes, err := run.Changes(t.Context(), b, 0, 0)
	if err != nil || len(changes) != people*each {
		t.Errorf("%d changes are recorded, %v; want %d", len(changes), err, people*each)
	}
}
