package workflows

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/activities"
	epochs "github.com/collabui/collabui/activities/epoch"
	"github.com/collabui/collabui/activities/grade"
	"github.com/collabui/collabui/activities/lifecycle"
)

// TestAPersonIsAskedAboveEachShare counts what the critic and what the agents were refused by itself: a critic that
// refuses everything must not disappear among the cells.
func TestAPersonIsAskedAboveEachShare(t *testing.T) {
	in := RolloutsInput{Run: "r", Epoch: 2, Plan: lifecycle.Plan{FailedShare: 0.1}}
	for name, c := range map[string]struct {
		tally    Tally
		accepted bool
		want     string
	}{
		"nothing":                         {Tally{Cells: 1200, Graded: 100}, false, ""},
		"slots within the share":          {Tally{Failed: 10}, false, ""},
		"slots above it":                  {Tally{Failed: 11, Why: "slot 4: gone"}, false, "slot 4: gone"},
		"the critic refuses everything":   {Tally{Cells: 1200, Graded: 100, RefusedGrades: 100}, false, "100 of 100"},
		"agents refuse a tenth":           {Tally{Cells: 1200, Graded: 100, RefusedCells: 120}, false, ""},
		"agents refuse more than a tenth": {Tally{Cells: 1200, Graded: 100, RefusedCells: 121}, false, "121 of 1200"},
		"a person lets the epoch go on":   {Tally{Cells: 10, RefusedCells: 10}, true, ""},
		"both, each within its own share": {
			Tally{Cells: 100, Graded: 10, RefusedCells: 10, RefusedGrades: 1}, false, "",
		},
		"no cell, as in a failed slot":     {Tally{Failed: 1}, false, ""},
		"grades of histories before today": {Tally{Done: 5}, false, ""},
	} {
		got := askAPerson(in, epochs.Plan{Slots: 100, Accepted: c.accepted}, c.tally)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want it to contain %q, or nothing", name, got, c.want)
		}
	}
}

func TestAPersonSeesTwoExamples(t *testing.T) {
	var all Tally
	useless := grade.Credited{Refused: 1, Why: "step 1: no grades"}
	for slot, c := range []grade.Credited{{}, useless, {}, useless, useless} {
		one := Tally{Graded: 1}
		one.graded(activities.SlotID{Slot: slot}, c)
		all.add(one)
	}
	if want := "slot 1 (step 1: no grades) and in slot 3 (step 1: no grades)"; all.WhyRefused != want {
		t.Errorf("the examples are %q, want %q", all.WhyRefused, want)
	}
}
