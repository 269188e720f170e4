package fork_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/care/fork"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers/catalog"
)

// metered counts requests and written bytes.
type metered struct {
	*store.Memory
	requests, bytes int
}

func (m *metered) Get(ctx context.Context, key string) ([]byte, error) {
	m.requests++

	return m.Memory.Get(ctx, key)
}

func (m *metered) List(ctx context.Context, prefix string) ([]store.Ref, error) {
	m.requests++

	return m.Memory.List(ctx, prefix)
}

func (m *metered) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	m.requests, m.bytes = m.requests+1, m.bytes+len(body)

	return m.Memory.PutOnce(ctx, key, body)
}

// write writes an object.
func write[T any](t *testing.T, b store.Bucket, o runs.Object[T], v T) store.Ref {
	t.Helper()
	_, ref, err := o.Record(t.Context(), b, func() (T, error) { return v, nil })
	if err != nil {
		t.Fatal(err)
	}

	return ref
}

// commit writes an epoch of a run as if it had been played.
func commit(t *testing.T, b store.Bucket, run runs.Run, epoch int) {
	t.Helper()
	const slots = 3
	write(t, b, run.Made(epoch), runs.Made{Prompts: "p"})
	e := runs.Epoch{Number: epoch, Val: &runs.Result{Rate: float64(epoch) / 1000}, Digest: fmt.Sprint(run, epoch)}
	e.Topology = write(t, b, run.Topology(epoch), domain.Topology{Agents: 1})
	e.Slots = write(t, b, run.Slots(epoch), runs.Slots{Epoch: epoch, Slots: make([]domain.Slot, slots)})
	for slot := 1; slot <= slots; slot++ {
		write(t, b, run.Start(epoch, slot, 1), runs.Start{Attempt: 1})
		r := runs.SlotRefs{Slot: slot}
		r.Episode = write(t, b, run.Attempt(epoch, slot, 1), runs.Episode{Attempt: 1, Topology: e.Topology})
		r.Credit = write(t, b, run.Credits(epoch, slot), runs.Credits{Episode: r.Episode})
		r.Pairs = write(t, b, run.Pairs(epoch, slot), runs.Pairs{Episode: r.Episode, Credit: r.Credit})
		e.Episodes = append(e.Episodes, r)
	}
	e.Updates = []store.Ref{write(t, b, run.Update(epoch, 0), runs.Update{})}
	write(t, b, run.Epoch(epoch), e)
	write(t, b, run.Result(fmt.Sprintf("epoch-%04d/trained-1/val", epoch)), *e.Val)
}

// TestANightlyYearOfForksGrowsLinearly promotes every night: each run is a fork of the previous one, with two more
// epochs.
func TestANightlyYearOfForksGrowsLinearly(t *testing.T) {
	t.Parallel()
	b := &metered{Memory: &store.Memory{}}
	s := spec.Default()
	s.Name, s.Epochs = "first", 2
	run := runs.Run(s.Name)
	write(t, b, run.Spec(), s)
	write(t, b, run.Made(0), runs.Made{Prompts: "p", Began: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	write(t, b, run.Base(), runs.Base{})
	write(t, b, run.Result("epoch-0000/base-warm/val"), runs.Result{})
	commit(t, b, run, 1)
	commit(t, b, run, 2)

	type night struct{ objects, requests, bytes int }
	var nights []night
	for n := 1; n <= 365; n++ {
		b.requests, b.bytes = 0, 0
		name := runs.Run(fmt.Sprintf("nightly-%d", n))
		f, err := fork.Plan(t.Context(), b, fork.Request{
			Run: run, Name: name, Epoch: 2 * n, Who: "schedule nightly", At: time.Unix(int64(n), 0).UTC(),
			Typed: map[string]string{
				"epochs":       fmt.Sprint(2*n + 2),
				"environments": fmt.Sprintf(`{"webtasks": {"inventory": "%d"}}`, n),
			},
		}, spec.Source{}, catalog.All{})
		if err == nil {
			err = f.Make(t.Context(), b, func(int) {})
		}
		if err != nil {
			t.Fatal(err)
		}
		for epoch := 1; epoch <= 2*n; epoch += max(1, 2*n/3) { // every part is read where it is stored
			if e, _, err := name.Epoch(epoch).Must(t.Context(), b); err != nil || e.Number != epoch {
				t.Fatalf("epoch %d of %s = %d, %v; want it to be shared", epoch, name, e.Number, err)
			}
		}
		commit(t, b, name, 2*n+1)
		commit(t, b, name, 2*n+2)
		if k, err := name.Committed(t.Context(), b); err != nil || k != 2*n+2 {
			t.Fatalf("%s has committed %d epochs, %v; want %d", name, k, err, 2*n+2)
		}
		own, err := b.Memory.List(t.Context(), name.Prefix())
		if err != nil {
			t.Fatal(err)
		}
		nights = append(nights, night{len(own), b.requests, b.bytes})
		run = name
	}

	second, last := nights[1], nights[len(nights)-1]
	const list = 2 * 55 // bytes with which a fork records the two epochs of the previous night, and their run
	if last.objects != second.objects || last.requests != second.requests ||
		last.bytes > second.bytes+len(nights)*(list+50) {
		t.Errorf("night 365 made %+v, night 2 %+v; want as many objects and requests, and few more bytes", last, second)
	}
	keys, err := run.Keys(t.Context(), b, "evals/")
	if err != nil || len(keys) != 2*366+1 || !strings.HasPrefix(keys[0], run.Prefix()+"evals/epoch-0000/") {
		t.Errorf("the last run has %d evaluations, %v; want those of all epochs and of the base", len(keys), err)
	}
}
