package estimate

import (
	"math"
	"strings"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9*math.Max(1, math.Abs(b)) }

// check compares a figure of the estimate.
func check(t *testing.T, name string, got, want float64) {
	t.Helper()
	if !near(got, want) {
		t.Errorf("%s = %v, want %v", name, got, want)
	}
}

// pilot is one whose episodes are twice as long as the expert's.
func pilot() Pilot {
	return Pilot{
		Steps: Steps{Pilot: Sample{8, 8, 8, 8}, Expert: Sample{4, 4}},
		Roles: []Role{
			{
				Name: "critic", Calls: 32, Units: 4, Total: 100, Steps: true,
				Tokens: Sample{1000, 1000, 1000}, Money: Sample{0.01, 0.01},
			},
			{Name: "questions", Calls: 8, Units: 8, Total: 400, Tokens: Sample{500, 1500}},
			{Name: "unused", Calls: 3, Units: 3},
		},
		Phases: []Phase{
			{Name: "rollouts", Seconds: 36, Units: 4, Low: 100, Total: 100, Steps: true},
			{Name: "SFT", Seconds: 3.6, Units: 10, Low: 20, Total: 1000},
		},
		Disks: []Disk{
			{Name: "episodes", Bytes: 4e6, Units: 4, Total: 100, Steps: true},
			{Name: "policies", Bytes: 1e6, Units: 1, Low: 10, Total: 30},
		},
	}
}

func TestARunIsEstimatedFromItsPilot(t *testing.T) {
	got := pilot().Estimate()
	if len(got) != 7 {
		t.Fatalf("Estimate returned %d lines, want 7: %+v", len(got), got)
	}
	critic, questions, rollouts, sft, policies, all := got[0], got[1], got[2], got[3], got[5], got[6]

	// 8 calls per episode of 8 steps: 800 at most, 400 if episodes become as short as the expert's.
	check(t, "critic's least calls", critic.Calls.Low, 400)
	check(t, "critic's calls", critic.Calls.Mid, 600)
	check(t, "critic's most calls", critic.Calls.High, 800)
	check(t, "critic's most tokens", critic.Tokens.High, 800000)
	check(t, "critic's least money", critic.Money.Low, 4)

	if want := (Range{Low: 400, Mid: 400, High: 400}); questions.Calls != want {
		t.Errorf("calls for questions = %+v, want %+v", questions.Calls, want)
	}
	check(t, "tokens for questions", questions.Tokens.Mid, 400000)
	if q := questions.Tokens; q.Low >= 300000 || q.High <= 500000 {
		t.Errorf("tokens for questions = %+v, want a range that contains 300000 to 500000", q)
	}

	check(t, "least hours of rollouts", rollouts.Hours.Low, 0.125)
	check(t, "most hours of rollouts", rollouts.Hours.High, 0.25)
	check(t, "least seconds of SFT", sft.Hours.Low*3600, 7.2)
	check(t, "most seconds of SFT", sft.Hours.High*3600, 360)
	check(t, "least bytes of policies", policies.Bytes.Low, 1e7)

	if all.Name != "in all" {
		t.Errorf("the last line is %q, want the sum", all.Name)
	}
	check(t, "most calls in all", all.Calls.High, 1200)
	check(t, "most bytes in all", all.Bytes.High, 1.3e8)
	check(t, "most hours in all", all.Hours.High, 0.35)
}

func TestTheTableShowsRanges(t *testing.T) {
	text := Text(pilot().Estimate())
	for _, want := range []string{"400 to 800", "50 MB to 100 MB", "in all"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks a figure, want %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "unused") {
		t.Errorf("the table has a role without units in the run, want none:\n%s", text)
	}
}

func TestOneValueSaysNothingAboutItsSpread(t *testing.T) {
	if _, rel := (Sample{3}).mean(); rel != 1 {
		t.Errorf("the relative half width of one value is %v, want 1", rel)
	}
}
