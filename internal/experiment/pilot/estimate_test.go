package pilot

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestARunIsEstimatedFromItsPilot(t *testing.T) {
	m := Works{
		{Line: Line{Name: "critic", Calls: 32, Tokens: 32000, Money: 0.32}, Times: 25},
		{Line: Line{Name: "rollouts", Hours: 1, Places: 3, Bytes: 4e6}, Times: 10},
		{Line: Line{Name: "unknown", Calls: 3}},
	}
	want := []Line{
		{Name: "critic", Calls: 800, Tokens: 800000, Money: 8},
		{Name: "rollouts", Hours: 10, Places: 30, Bytes: 4e7},
		{Name: "in all", Calls: 800, Tokens: 800000, Money: 8, Hours: 10, Places: 30, Bytes: 4e7},
	}
	got := m.Estimate()
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("Estimate = %+v, want %+v", got, want)
	}
	text := Text(got)
	for _, want := range []string{"800000", "10h0m0s", "40\n", "in all"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table is\n%s\nwant %q in it", text, want)
		}
	}

	took := m.Took()
	if all := took[len(took)-1]; all.Calls != 35 || all.Hours != 1 {
		t.Errorf("a run that was measured took %+v, want 35 calls and 1 hour", all)
	}
}

func TestCallsOfOneRoleAreOneLine(t *testing.T) {
	m := &measuring{}
	for range 2 {
		m.add(Work{Line: Line{Name: "critic", Calls: 3}, Times: 2})
		m.add(Work{Line: Line{Name: "adversary"}, Times: 2})
	}
	if got := m.works.Estimate(); len(got) != 2 || got[0].Calls != 12 {
		t.Errorf("Estimate = %+v, want 12 calls of the critic and their sum", got)
	}
}

// TestAPilotOfNothingHasAnEstimate covers a pilot that played, wrote and trained nothing, so that there is nothing to
// scale. No figure may become infinite.
func TestAPilotOfNothingHasAnEstimate(t *testing.T) {
	m := &measuring{}
	if err := m.evaluations(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := m.training("updates", nil, share(1, 0), 4); err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(m.works); err != nil {
		t.Errorf("the estimate as JSON: %v, want no figure that is infinite", err)
	}
}
