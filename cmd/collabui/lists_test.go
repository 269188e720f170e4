package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// lister counts what an S3 server would be asked to list: requests with at most 1,000 names each, and names.
type lister struct {
	*store.Memory
	requests, names int
}

func (l *lister) add(names int) {
	l.requests, l.names = l.requests+max(1, (names+999)/1000), l.names+names
}

func (l *lister) List(ctx context.Context, prefix string) ([]store.Ref, error) {
	all, err := l.Memory.List(ctx, prefix)
	l.add(len(all))

	return all, err
}

func (l *lister) Ages(ctx context.Context, prefix string) ([]store.Aged, error) {
	all, err := l.Memory.Ages(ctx, prefix)
	l.add(len(all))

	return all, err
}

func (l *lister) Folders(ctx context.Context, prefix string) ([]string, error) {
	all, err := l.Memory.Folders(ctx, prefix)
	l.add(len(all))

	return all, err
}

// threeRuns returns a store with the finished runs a, b and c of 10,000 objects each. Run b began with a policy that
// was imported.
func threeRuns(t *testing.T) *store.Memory {
	t.Helper()
	b := &store.Memory{}
	for _, name := range []string{"a", "b", "c"} {
		run := runs.Run(name)
		s := spec.Default()
		s.Name, s.Epochs = name, 1
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

// TestWhoLooksForRunsListsNoObjects lets everything that looks for runs, folders or slots do so.
func TestWhoLooksForRunsListsNoObjects(t *testing.T) {
	t.Parallel()
	memory := threeRuns(t)
	a := &app{data: t.TempDir(), out: io.Discard}
	ctx := t.Context()
	for _, c := range []struct {
		reader string
		do     func(b *lister) error
	}{
		{"the index of the viewer", func(b *lister) error {
			x, err := index(b)(ctx)
			if len(x.Runs) != 3 {
				t.Errorf("the index has the runs %q, want a, b and c", x.Runs)
			}

			return err
		}},
		{"the slots of an epoch in the viewer", func(b *lister) error {
			rows, err := a.libraryOf(b).Document(ctx, "rows/a/1")
			if got := fmt.Sprintf("%T", rows); err == nil && got != "[]view.row" {
				t.Errorf("the document is a %s, want the lines of an epoch", got)
			}

			return err
		}},
		{"runs", func(b *lister) error {
			return a.listRuns(ctx, b, config.Endpoints{}, false)
		}},
		{"delete", func(b *lister) error {
			b.Memory = threeRuns(t)

			return collect.Delete(ctx, b, "a", runs.Decision{}, func() (bool, error) { return false, nil })
		}},
		{"the lineage of a run in the viewer", func(b *lister) error {
			_, err := a.libraryOf(b).Document(ctx, "run/b")

			return err
		}},
		{"the check before a start", func(b *lister) error {
			x := spec.Default()
			x.Name, x.Epochs = "a", 1
			s := &session{app: a, bucket: b}

			return s.admit(ctx, x, true, "")
		}},
	} {
		b := &lister{Memory: memory}
		began := time.Now()
		if err := c.do(b); err != nil {
			t.Errorf("%s: %v, want no error", c.reader, err)
		}
		t.Logf("%-36s %3d requests, %6d names, %v", c.reader, b.requests, b.names, time.Since(began))
		if b.requests > 16 || b.names > 110 {
			t.Errorf("%s: %d LIST requests for %d names, want at most 16 for 110", c.reader, b.requests, b.names)
		}
	}
}
