package activities

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// TestANameIsUsedAgain gives the name of a run to another run, as after a deletion. A process that knew the old one
// works on the new one a moment later, and asks the store only now and then.
func TestANameIsUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &store.Memory{}
		c := NewRuns(b, "")
		name := runs.Run("again")
		record := func(slots, changes int) {
			s := spec.Default()
			s.Name, s.Slots = string(name), slots
			_, _, err := name.Spec().Record(t.Context(), b, func() (spec.Spec, error) { return s, nil })
			if err == nil {
				made := runs.Made{Changes: changes}
				_, _, err = name.Made(1).Record(t.Context(), b, func() (runs.Made, error) { return made, nil })
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		want := func(slots int) {
			t.Helper()
			s, err := c.Spec(t.Context(), string(name), 0)
			if err != nil || s.Slots != slots {
				t.Errorf("the specification has %d slots, %v, want %d", s.Slots, err, slots)
			}
		}

		record(5, 1)
		want(5)
		if made, err := c.Beginning(t.Context(), string(name), 1); err != nil || made.Changes != 1 {
			t.Errorf("epoch 1 began with %+v, %v, want 1 change", made, err)
		}
		for _, key := range []string{name.Spec().Key, name.Made(1).Key} {
			if err := b.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		want(5) // it was looked at just now
		time.Sleep(RunKept)
		if s, err := c.Spec(t.Context(), string(name), 0); err == nil {
			t.Errorf("the specification of a run that is gone has %d slots, want an error", s.Slots)
		}
		record(7, 2)
		want(7)
		if made, err := c.Beginning(t.Context(), string(name), 1); err != nil || made.Changes != 2 {
			t.Errorf("epoch 1 of the new run began with %+v, %v, want 2 changes", made, err)
		}
		time.Sleep(10 * RunKept)
		want(7)
	})
}

// TestTwoForksOfOneNameAreTwoRuns: they differ in their origin alone, as long as nothing else is read.
func TestTwoForksOfOneNameAreTwoRuns(t *testing.T) {
	t.Parallel()
	b := &store.Memory{}
	identity := func(name runs.Run, why string) string {
		s := runs.Forked{Spec: spec.Default(), Shared: &runs.Shared{}}
		s.Name = "fork"
		_, _, _, err := name.Forked().Write(t.Context(), b, s)
		if err == nil {
			_, _, _, err = name.Origin().Write(t.Context(), b, runs.Origin{Run: "a", Epoch: 1, Why: why})
		}
		if err != nil {
			t.Fatal(err)
		}
		_, id, err := name.Identify(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}

		return id
	}
	first := identity("x", "one")
	if second := identity("y", "another"); first == second {
		t.Error("two forks have one identity, want two")
	}
}

// TestARunOfTheSameFileIsAnotherRun: a person deletes a run and trains its file again. What is known of the changes and
// of the plan of the first run does not count for the second, even without a request in between.
func TestARunOfTheSameFileIsAnotherRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &store.Memory{}
		c := NewRuns(b, "")
		name := runs.Run("again")
		begin := func() {
			s := spec.Default()
			s.Name = string(name)
			_, _, _, err := name.Spec().Write(t.Context(), b, s)
			if err == nil {
				_, _, _, err = name.Made(0).Write(t.Context(), b, runs.Made{Began: time.Now()})
			}
			if err != nil {
				t.Fatal(err)
			}
		}

		begin()
		first, err := c.known(t.Context(), string(name))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(RunKept)
		if same, err := c.known(t.Context(), string(name)); err != nil || same != first {
			t.Errorf("after a while: %p, %v, want what is known, %p", same, err, first)
		}
		for _, key := range []string{name.Spec().Key, name.Made(0).Key} {
			if err := b.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		begin()
		time.Sleep(RunKept)
		if second, err := c.known(t.Context(), string(name)); err != nil || second == first {
			t.Errorf("of the second run: %p, %v, want nothing of the first, %p", second, err, first)
		}
	})
}

// TestWhatWasReadBeforeTheBeginIsReadAgain: a worker reads a specification before the run begins. The run is deleted,
// and its file is trained again, before the worker is asked again. What it knew of the first run does not count.
func TestWhatWasReadBeforeTheBeginIsReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &store.Memory{}
		c := NewRuns(b, "")
		name := runs.Run("again")
		tag := func() string {
			t.Helper()
			s := spec.Default()
			s.Name = string(name)
			_, _, _, err := name.Spec().Write(t.Context(), b, s)
			if err == nil {
				_, err = c.known(t.Context(), string(name))
			}
			if err == nil {
				_, _, _, err = name.Made(0).Write(t.Context(), b, runs.Made{Began: time.Now()})
			}
			if err != nil {
				t.Fatal(err)
			}
			known, err := c.Writer(t.Context(), string(name))
			if err != nil {
				t.Fatal(err)
			}

			return known.Tag
		}

		first := tag()
		for _, key := range []string{name.Spec().Key, name.Made(0).Key} {
			if err := b.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(RunKept)
		if second := tag(); second == first {
			t.Errorf("the records of the second run have the tag of the first, %s, want another", first)
		}
	})
}

// gets counts the reads of objects by their keys.
type gets struct {
	*store.Memory
	of map[string]int
}

func (g *gets) Get(ctx context.Context, key string) ([]byte, error) {
	g.of[key]++

	return g.Memory.Get(ctx, key)
}

// TestTwoEpochsBesideEachOtherAreReadOnce: while an epoch is updated, the next one may roll out in the same worker.
func TestTwoEpochsBesideEachOtherAreReadOnce(t *testing.T) {
	b := &gets{Memory: &store.Memory{}, of: map[string]int{}}
	c := NewRuns(b, "")
	name := runs.Run("early")
	s := spec.Default()
	s.Name = string(name)
	_, _, _, err := name.Spec().Write(t.Context(), b, s)
	for epoch := 0; epoch <= 3 && err == nil; epoch++ {
		if _, _, _, err = name.Made(epoch).Write(t.Context(), b, runs.Made{Began: time.Now()}); err == nil {
			_, _, _, err = name.Slots(epoch).Write(t.Context(), b, runs.Slots{Epoch: epoch})
		}
		if err == nil {
			_, _, _, err = name.Topology(epoch).Write(t.Context(), b, domain.Topology{Agents: epoch})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for early := 2; early <= 3; early++ {
		for range 20 {
			for _, epoch := range []int{early - 1, early} {
				p, err := c.EpochSlots(t.Context(), s.Name, epoch)
				if err != nil || p.Slots.Epoch != epoch || p.Topology.Agents != epoch {
					t.Fatalf("plan of epoch %d = %+v, %v, want its own", epoch, p, err)
				}
				if _, err := c.Beginning(t.Context(), s.Name, epoch); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for epoch := 1; epoch <= 3; epoch++ {
		for _, key := range []string{name.Slots(epoch).Key, name.Made(epoch).Key} {
			if b.of[key] != 1 {
				t.Errorf("%s was read %d times, want once", key, b.of[key])
			}
		}
	}
}
