package activities

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// TestANameIsUsedAgain gives the name of a run to another run, as after a deletion. A process that knew the old one
// works on the new one a moment later, and asks the store only now and then.
func TestANameIsUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &store.Memory{}
		c := &Common{Bucket: b}
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
			s, err := c.spec(t.Context(), string(name), 0)
			if err != nil || s.Slots != slots {
				t.Errorf("the specification has %d slots, %v, want %d", s.Slots, err, slots)
			}
		}

		record(5, 1)
		want(5)
		if made, err := c.begun(t.Context(), string(name), 1); err != nil || made.Changes != 1 {
			t.Errorf("epoch 1 began with %+v, %v, want 1 change", made, err)
		}
		for _, key := range []string{name.Spec().Key, name.Made(1).Key} {
			if err := b.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		want(5) // it was looked at just now
		time.Sleep(RunKept)
		if s, err := c.spec(t.Context(), string(name), 0); err == nil {
			t.Errorf("the specification of a run that is gone has %d slots, want an error", s.Slots)
		}
		record(7, 2)
		want(7)
		if made, err := c.begun(t.Context(), string(name), 1); err != nil || made.Changes != 2 {
			t.Errorf("epoch 1 of the new run began with %+v, %v, want 2 changes", made, err)
		}
		time.Sleep(10 * RunKept)
		want(7)
	})
}

// TestTwoForksOfOneNameAreTwoRuns: they differ in their origin alone, as long as nothing else is read.
func TestTwoForksOfOneNameAreTwoRuns(t *testing.T) {
	t.Parallel()
	c := &Common{Bucket: &store.Memory{}}
	identity := func(name runs.Run, why string) string {
		s := runs.Forked{Spec: spec.Default(), Shared: &runs.Shared{}}
		s.Name = "fork"
		_, _, _, err := name.Forked().Write(t.Context(), c.Bucket, s)
		if err == nil {
			_, _, _, err = name.Origin().Write(t.Context(), c.Bucket, runs.Origin{Run: "a", Epoch: 1, Why: why})
		}
		if err != nil {
			t.Fatal(err)
		}
		_, id, err := c.identify(t.Context(), string(name))
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
// of the plan of the first run does not count for the second, even if nobody asked in between.
func TestARunOfTheSameFileIsAnotherRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &store.Memory{}
		c := &Common{Bucket: b}
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
		first, err := c.versions(t.Context(), string(name))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(RunKept)
		if same, err := c.versions(t.Context(), string(name)); err != nil || same != first {
			t.Errorf("after a while: %p, %v, want what is known, %p", same, err, first)
		}
		for _, key := range []string{name.Spec().Key, name.Made(0).Key} {
			if err := b.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		begin()
		time.Sleep(RunKept)
		if second, err := c.versions(t.Context(), string(name)); err != nil || second == first {
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
		c := &Common{Bucket: b}
		name := runs.Run("again")
		tag := func() string {
			t.Helper()
			s := spec.Default()
			s.Name = string(name)
			_, _, _, err := name.Spec().Write(t.Context(), b, s)
			if err == nil {
				_, err = c.versions(t.Context(), string(name))
			}
			if err == nil {
				_, _, _, err = name.Made(0).Write(t.Context(), b, runs.Made{Began: time.Now()})
			}
			if err != nil {
				t.Fatal(err)
			}
			known, err := c.own(t.Context(), string(name))
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
