// Package listing counts what a store is asked to list.
package listing

import (
	"context"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Counter counts what an S3 server would be asked to list: requests with at most 1,000 names each, and names.
type Counter struct {
	*store.Memory
	Requests int
	Names    int
}

func (c *Counter) add(names int) {
	c.Requests += max(1, (names+999)/1000)
	c.Names += names
}

// List counts the names that the store lists.
func (c *Counter) List(ctx context.Context, prefix string) ([]store.Ref, error) {
	all, err := c.Memory.List(ctx, prefix)
	c.add(len(all))

	return all, err
}

// Ages counts the names that the store lists.
func (c *Counter) Ages(ctx context.Context, prefix string) ([]store.Aged, error) {
	all, err := c.Memory.Ages(ctx, prefix)
	c.add(len(all))

	return all, err
}

// Folders counts the names that the store lists.
func (c *Counter) Folders(ctx context.Context, prefix string) ([]string, error) {
	all, err := c.Memory.Folders(ctx, prefix)
	c.add(len(all))

	return all, err
}

// ThreeRuns returns a store with the finished runs a, b and c of 10,000 objects each. Run b began with a policy that
// was imported.
func ThreeRuns(t *testing.T) *store.Memory {
	t.Helper()
	b := &store.Memory{}
	for _, name := range []string{"a", "b", "c"} {
		run := runs.Run(name)
		s := spec.Default()
		s.Name = name
		s.Epochs = 1
		if name == "b" {
			s.FineTune.Base = strings.Repeat("b", 64)
		}
		write(t, b, run.Spec(), s)
		write(t, b, run.Base(), runs.Base{})
		write(t, b, run.Made(0), runs.Made{})
		write(t, b, run.Topology(1), domain.Topology{Agents: s.Agents})
		slots := runs.Slots{Epoch: 1}
		for slot := 1; slot <= 100; slot++ {
			slots.Slots = append(slots.Slots, domain.Slot{Epoch: 1, Number: slot})
			write(t, b, run.Start(1, slot, 1), runs.Start{Slot: slots.Slots[slot-1], Attempt: 1})
			for step := 1001; step <= 1099; step++ { // no reader looks there
				b.Damage(run.Step(1, slot, 1, step).Key, []byte("x"))
			}
		}
		write(t, b, run.Slots(1), slots)
		write(t, b, run.End(), runs.End{})
	}

	return b
}

func write[T any](t *testing.T, b store.Bucket, o runs.Object[T], v T) {
	t.Helper()
	if _, _, _, err := o.Write(t.Context(), b, v); err != nil {
		t.Fatal(err)
	}
}

// Want fails the test if a reader took more requests or names than a store with three runs explains.
func (c *Counter) Want(t testing.TB, reader string) {
	t.Helper()
	t.Logf("%-36s %3d requests, %6d names", reader, c.Requests, c.Names)
	if c.Requests > 16 || c.Names > 110 {
		t.Errorf("%s: %d LIST requests for %d names, want at most 16 for 110", reader, c.Requests, c.Names)
	}
}
