package main

import (
	"errors"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/process/supervisor"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

func TestChangesStandOneBehindTheOther(t *testing.T) {
	b, s := &store.Memory{}, spec.Default()
	s.Name, s.Budget.Tokens = "r", 100
	if _, err := change(t.Context(), b, "r", []string{"budget.money=1"}, "ann", ""); !errors.Is(err, store.ErrNotFound) {
		t.Error("a run that is not there was changed:", err)
	}
	if _, _, err := runs.Run("r").Spec().Record(t.Context(), b, func() (spec.Spec, error) { return s, nil }); err != nil {
		t.Fatal(err)
	}
	for _, pairs := range [][]string{{"budget.money=5"}, {"budget.tokens=0", "budget.money=7"}} {
		if _, err := change(t.Context(), b, "r", pairs, "ann", "why"); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := runs.Run(s.Name).Budget(t.Context(), b, s); err != nil || got != (spec.Budget{Money: 7}) {
		t.Error(got, err)
	}
	if _, err := b.Get(t.Context(), runs.Run("r").Change(2).Key); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"budget.money", "budget.money=-1", "budget.money=NaN", "budget.tokens=1.5", "seed=3"} {
		if _, err := change(t.Context(), b, "r", []string{bad}, "ann", ""); fault.KindOf(err) != fault.Invalid || err == nil {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestWhatRunsAlreadyKeepsItsAddressesAndNumbers(t *testing.T) {
	a := &app{data: defaultData}
	st := supervisor.State{Tabs: 3, Services: map[string]supervisor.Service{"temporal": {Addr: "h:7233"}, "s3": {Addr: "https://s3.example.com"}, "redis": {Addr: "redis://:xxxxx@r:1"}}}
	same := config.Endpoints{Temporal: "h:7233", Redis: "redis://:pw@r:1"}
	same.SetStore("https://s3.example.com")
	if err := errors.Join(a.agrees(st, same, defaultTabs), a.agrees(st, config.Endpoints{}, 3)); err != nil {
		t.Error(err)
	}
	other := same
	other.SetStore("http://s3.example.com")
	for _, err := range []error{a.agrees(st, config.Endpoints{Temporal: "other:7233"}, defaultTabs), a.agrees(st, other, defaultTabs), a.agrees(st, same, defaultTabs+5)} {
		if fault.KindOf(err) != fault.Invalid || err == nil {
			t.Error(err)
		}
	}
}
