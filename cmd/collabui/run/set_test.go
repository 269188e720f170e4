package run

import (
	"errors"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workflows"
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

// set changes values of the run r as the command does where no workflow runs.
func set(t *testing.T, b store.Bucket, run string, pairs ...string) error {
	t.Helper()
	typed, err := assignments(pairs)
	if err != nil {
		return err
	}
	asked := workflows.SetCommand{Command: workflows.Command{Who: "ann", Why: "why"}, Values: typed}
	_, err = setStored(t.Context(), b, run, asked)

	return err
}

func TestChangesAreRecordedOneAfterAnother(t *testing.T) {
	b, s := recorded(t)
	for _, pairs := range [][]string{{"budget.money=5"}, {"budget.tokens=0", "budget.money=7", "epochs=9"}} {
		if err := set(t, b, "r", pairs...); err != nil {
			t.Fatal(err)
		}
	}

	want := spec.Budget{Money: 7}
	if got, err := runs.Run("r").Budget(t.Context(), b, s); err != nil || got != want {
		t.Errorf("Budget = %+v, %v; want %+v", got, err, want)
	}
	if got, err := runs.Run("r").Current(t.Context(), b); err != nil || got.Epochs != 9 || got.Budget != want {
		t.Errorf("Current = %d epochs and %+v, %v; want 9 and %+v", got.Epochs, got.Budget, err, want)
	}
	if there, err := runs.Run("r").Change(2).Exists(t.Context(), b); err != nil || !there {
		t.Errorf("change 2 exists: %v, %v; want true", there, err)
	}
}

func TestImpossibleChangesAreRefused(t *testing.T) {
	b, _ := recorded(t)
	for _, pair := range []string{
		"budget.money", "budget.money=-1", "budget.money=.nan", "budget.tokens=1.5", "budget.tokens=-1", "seed=3", "=1",
	} {
		if err := set(t, b, "r", pair); fault.KindOf(err) != fault.Invalid {
			t.Errorf("change by %s = %v, want an invalid fault", pair, err)
		}
	}
	if err := set(t, b, "r", "epochs=5", "epochs=6"); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a key given twice = %v, want an invalid fault", err)
	}
	if err := set(t, b, "none", "budget.money=1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("change of a missing run = %v, want %v", err, store.ErrNotFound)
	}
}

func TestAChangeThatComesTooLateIsRefused(t *testing.T) {
	b, _ := recorded(t)
	if _, _, err := runs.Run("r").Final().Record(t.Context(), b, func() (runs.Made, error) {
		return runs.Made{}, nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := set(t, b, "r", "train.beta=2"); fault.KindOf(err) != fault.Invalid {
		t.Errorf("train.beta in the last evaluation = %v, want an invalid fault", err)
	}
	if err := set(t, b, "r", "budget.money=2"); err != nil {
		t.Errorf("budget.money in the last evaluation = %v, want no error", err)
	}
	if _, _, err := runs.Run("r").End().Record(t.Context(), b, func() (runs.End, error) {
		return runs.End{}, nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := set(t, b, "r", "budget.money=3"); fault.KindOf(err) != fault.Invalid {
		t.Errorf("budget.money of a run that has ended = %v, want an invalid fault", err)
	}
}

func TestABudgetBelowWhatIsSpentIsReported(t *testing.T) {
	spent := runs.Spent{Calls: 3, Tokens: 120, Money: 1.74}
	for _, x := range []struct {
		name   string
		budget spec.Budget
		want   string
	}{
		{"no budget", spec.Budget{}, ""},
		{"enough", spec.Budget{Money: 2, Tokens: 121}, ""},
		{"money", spec.Budget{Money: 1}, "1.74 of budget.money=1 are already spent"},
		{"tokens", spec.Budget{Tokens: 120}, "120 of budget.tokens=120 are already spent"},
	} {
		if got := overspent(x.budget, spent); got != x.want {
			t.Errorf("%s: overspent = %q, want %q", x.name, got, x.want)
		}
	}
}
