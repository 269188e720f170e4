package play

import (
	"context"
	"errors"
	"testing"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
)

func TestAnEnvironmentThatOffersSomethingElseIsNotPlayed(t *testing.T) {
	edition := "1"
	suites := NewSuites(func(envadapters.Options) (envadapters.Suite, error) {
		return &scripted.Suite{Edition: edition}, nil
	})
	planned, err := suites.Look(t.Context(), "mine", envadapters.Options{Suite: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	pinned := envadapters.Options{Suite: "mine", Inventory: planned.Digest()}
	first, err := suites.Get(t.Context(), pinned)
	if err != nil {
		t.Fatal(err)
	}

	edition = "2" // a server was replaced; this worker goes on with what it has open
	if s, err := suites.Get(t.Context(), pinned); err != nil || s != first {
		t.Errorf("get = %v, %v; want the suite that is open", s, err)
	}
	newer, err := suites.Look(t.Context(), "mine", envadapters.Options{Suite: "mine"})
	if err != nil || newer.Digest() == planned.Digest() {
		t.Errorf("look = %+v, %v; want what is offered now", newer, err)
	}
	if _, err := suites.Get(t.Context(), pinned); fault.KindOf(err) != fault.Transient {
		t.Errorf("get of the older inventory = %v, want a transient fault", err)
	}
	pinned.Inventory = newer.Digest()
	if s, err := suites.Get(t.Context(), pinned); err != nil || s == first {
		t.Errorf("get of the newer inventory = %v, %v; want the suite opened anew", s, err)
	}
}

// TestASlowEnvironmentHoldsUpNoOther: a worker plays several environments, whose servers may not answer.
func TestASlowEnvironmentHoldsUpNoOther(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	suites := NewSuites(func(o envadapters.Options) (envadapters.Suite, error) {
		if o.Suite == "slow" {
			asked <- struct{}{}
			<-answer
		}

		return &scripted.Suite{}, nil
	})
	got := make(chan envadapters.Suite)
	get := func() {
		s, err := suites.Get(t.Context(), envadapters.Options{Suite: "slow"})
		if err != nil {
			t.Error(err)
		}
		got <- s
	}
	go get()
	<-asked

	if s, err := suites.Get(t.Context(), envadapters.Options{Suite: "other"}); err != nil || s == nil {
		t.Errorf("get of another environment = %v, %v; want it open", s, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := suites.Get(gone, envadapters.Options{Suite: "slow"}); !errors.Is(err, context.Canceled) {
		t.Errorf("get by an activity that is cancelled = %v, want %v", err, context.Canceled)
	}

	go get() // it must not open the suite once more
	close(answer)
	if first, second := <-got, <-got; first == nil || first != second {
		t.Errorf("get = %v and %v, want the same suite", first, second)
	}
}
