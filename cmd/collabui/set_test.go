package main

import (
	"errors"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// recorded returns a store with the run r, whose budget is 100 tokens.
func recorded(t *testing.T) (*store.Memory, spec.Spec) {
	t.Helper()
	b, s := &store.Memory{}, spec.Default()
	s.Name, s.Budget.Tokens = "r", 100
	_, _, err := runs.Run("r").Spec().Record(t.Context(), b, func() (spec.Spec, error) { return s, nil })
	if err != nil {
		t.Fatal(err)
	}

	return b, s
}

func TestChangesAreRecordedOneAfterAnother(t *testing.T) {
	b, s := recorded(t)
	for _, pairs := range [][]string{{"budget.money=5"}, {"budget.tokens=0", "budget.money=7"}} {
		if _, err := change(t.Context(), b, "r", pairs, runs.Change{Who: "ann", Why: "why"}); err != nil {
			t.Fatal(err)
		}
	}

	want := spec.Budget{Money: 7}
	if got, err := runs.Run("r").Budget(t.Context(), b, s); err != nil || got != want {
		t.Errorf("Budget = %+v, %v; want %+v", got, err, want)
	}
	if there, err := runs.Run("r").Change(2).Exists(t.Context(), b); err != nil || !there {
		t.Errorf("change 2 exists: %v, %v; want true", there, err)
	}
}

func TestImpossibleChangesAreRefused(t *testing.T) {
	b, _ := recorded(t)
	for _, pair := range []string{
		"budget.money", "budget.money=-1", "budget.money=NaN", "budget.tokens=1.5", "budget.tokens=-1", "seed=3",
	} {
		_, err := change(t.Context(), b, "r", []string{pair}, runs.Change{Who: "ann"})
		if err == nil || fault.KindOf(err) != fault.Invalid {
			t.Errorf("change by %s = %v, want an invalid fault", pair, err)
		}
	}
	_, err := change(t.Context(), b, "none", []string{"budget.money=1"}, runs.Change{})
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("change of a missing run = %v, want %v", err, store.ErrNotFound)
	}
}
