package collect_test

import (
	"errors"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/collect"
	"github.com/collabui/collabui/internal/store/runs"
)

// started records what the start of a run does.
func started(t *testing.T, b store.Bucket, name runs.Run) {
	t.Helper()
	ctx := t.Context()
	_, _, err := name.Spec().Record(ctx, b, func() (spec.Spec, error) { return spec.Spec{Name: string(name)}, nil })
	if err == nil {
		_, _, err = name.Made(0).Record(ctx, b, func() (runs.Made, error) { return runs.Made{}, nil })
	}
	if err == nil {
		_, _, err = name.Change(1).Record(ctx, b, func() (runs.Change, error) { return runs.Change{Who: "ann"}, nil })
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestARunThatProducedNothingCanBeForgotten(t *testing.T) {
	b := &store.Memory{}
	started(t, b, "x")
	started(t, b, "x-2")
	ended := 0
	end := func() error { ended++; return nil }
	if err := collect.Forget(t.Context(), b, "x", end); err != nil || ended != 1 {
		t.Fatalf("Forget = %v after %d workflows were ended, want success after one", err, ended)
	}
	if left, err := b.List(t.Context(), runs.Run("x").Prefix()); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v, want nothing", left, err)
	}
	if keys, unused, err := collect.Unused(t.Context(), b, "x-2"); err != nil || !unused || len(keys) != 3 {
		t.Errorf("Unused of another run = %v, %v, %v, want its three keys", keys, unused, err)
	}
	if _, unused, err := collect.Unused(t.Context(), b, "none"); err != nil || unused {
		t.Errorf("Unused of no run = %v, %v, want false", unused, err)
	}
}

func TestARunThatProducedSomethingIsNotForgotten(t *testing.T) {
	b := &store.Memory{}
	started(t, b, "x")
	_, _, err := runs.Run("x").Topology(1).Record(t.Context(), b, func() (domain.Topology, error) {
		return domain.Topology{Agents: 1}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := collect.Forget(t.Context(), b, "x", func() error { return nil }); fault.KindOf(err) != fault.Invalid {
		t.Errorf("Forget = %v, want an invalid fault", err)
	}
	broken := errors.New("no Temporal")
	if err := collect.Forget(t.Context(), b, "x", func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("Forget = %v, want that its workflow could not be ended", err)
	}
	if there, err := runs.Run("x").Spec().Exists(t.Context(), b); err != nil || !there {
		t.Errorf("its specification is there: %v, %v, want it kept", there, err)
	}
}

// TestAForkThatWasCutShortIsNotTakenForANewRun: a run of its name would begin with what the fork has copied.
func TestAForkThatWasCutShortIsNotTakenForANewRun(t *testing.T) {
	b := &store.Memory{}
	cut := func(name runs.Run) bool {
		short, err := collect.CutShort(t.Context(), b, name)
		if err != nil {
			t.Fatal(err)
		}

		return short
	}
	started(t, b, "whole")
	begun := func() (runs.Origin, error) { return runs.Origin{Run: "whole"}, nil }
	if _, _, err := runs.Run("fork").Origin().Record(t.Context(), b, begun); err != nil {
		t.Fatal(err)
	}
	if cut("whole") || cut("none") || !cut("fork") {
		t.Errorf("cut short: whole %v, none %v, fork %v; want the fork alone", cut("whole"), cut("none"), cut("fork"))
	}
}
