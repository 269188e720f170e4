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

// pilot is one whose episodes, which all failed, are twice as long as the expert's. With rates of 30, 60 and 90 %,
// those of the run are 0.85, 0.7 and 0.55 times as long.
func pilot() Pilot {
	return Pilot{
		Steps: Steps{Pilot: Sample{8, 8, 8, 8}, Failed: Sample{8, 8, 8, 8}, Expert: Sample{4, 4}},
		Roles: []Role{
			{
				Name: "critic", Calls: 32, Units: 4, Total: 100, Steps: true,
				Tokens: Sample{1000, 1000, 1000}, Money: Sample{0.01, 0.01},
			},
			{Name: "questions", Calls: 8, Units: 8, Total: 400, Tokens: Sample{500, 1500}},
			{Name: "unused", Calls: 3, Units: 3},
		},
		Phases: []Phase{
			{
				Name: "rollouts", Work: 36, Wall: 18, Places: 30, Lanes: 8, Units: 4, Low: 100, Total: 100, Steps: true,
			},
			{
				Name: "SFT", Work: 3.6, Wall: 9, Devices: 2, Lanes: 1, Units: 10, Low: 20, Total: 2000,
				Begin: 5, JobsLow: 1, Jobs: 100,
			},
		},
		Disks: []Disk{
			{Name: "episodes", Bytes: 4e6, Units: 4, Total: 100, Steps: true},
			{Name: "policies", Bytes: 1e6, Units: 1, Low: 10, Total: 30},
		},
	}
}

func TestAPhaseInWhichThePilotPlayedNothingTakesNoTime(t *testing.T) {
	p := Pilot{Phases: []Phase{{Name: "evaluation", Work: 3, Wall: 3, Lanes: 1}}}
	if got := p.Playing("evaluation", 100); got != (Range{}) {
		t.Errorf("Playing = %v, want zero hours", got)
	}
}

func TestARunIsEstimatedFromItsPilot(t *testing.T) {
	got := pilot().Estimate()
	if len(got) != 7 {
		t.Fatalf("Estimate returned %d lines, want 7: %+v", len(got), got)
	}
	critic, questions, rollouts, sft, policies, all := got[0], got[1], got[2], got[3], got[5], got[6]

	// 8 calls per episode of 8 steps.
	check(t, "critic's least calls", critic.Calls.Low, 800*0.55)
	check(t, "critic's calls", critic.Calls.Mid, 800*0.7)
	check(t, "critic's most calls", critic.Calls.High, 800*0.85)
	check(t, "critic's most tokens", critic.Tokens.High, 680000)
	check(t, "critic's least money", critic.Money.Low, 4.4)

	if want := (Range{Low: 400, Mid: 400, High: 400}); questions.Calls != want {
		t.Errorf("calls for questions = %+v, want %+v", questions.Calls, want)
	}
	check(t, "tokens for questions", questions.Tokens.Mid, 400000)
	if q := questions.Tokens; q.Low >= 300000 || q.High <= 500000 {
		t.Errorf("tokens for questions = %+v, want a range that contains 300000 to 500000", q)
	}

	// The pilot had 2 of 8 episodes at once on average.
	check(t, "least seconds of rollouts", rollouts.Hours.Low*3600, 900*0.55/8)
	check(t, "seconds of rollouts", rollouts.Hours.Mid*3600, 900*0.7/4)
	check(t, "most seconds of rollouts", rollouts.Hours.High*3600, 900*0.85/2)
	check(t, "seconds of places", rollouts.Places.Mid*3600, 750*0.7)

	// 0.36 s a step, and 5 s before the first of each job.
	check(t, "least seconds of SFT", sft.Hours.Low*3600, 7.2+5)
	check(t, "seconds of SFT", sft.Hours.Mid*3600, 72+50)
	check(t, "most seconds of SFT", sft.Hours.High*3600, 720+500)
	check(t, "seconds of devices", sft.Devices.Mid*3600, 2*(72+50))
	check(t, "least bytes of policies", policies.Bytes.Low, 1e7)

	if all.Name != "in all" {
		t.Errorf("the last line is %q, want the sum", all.Name)
	}
	check(t, "most calls in all", all.Calls.High, 1080)
	check(t, "most bytes in all", all.Bytes.High, 1.15e8)
	check(t, "most seconds in all", all.Hours.High*3600, 382.5+1220)
}

func TestTheLengthOfEpisodesIsTheExpertsWhereFailuresAreShort(t *testing.T) {
	short := Steps{Pilot: Sample{1, 3}, Failed: Sample{1, 3}, Expert: Sample{3, 3}}
	check(t, "least length", short.factor().Low, 1.5)
	check(t, "most length", short.factor().High, 1.5)
	if got := (Steps{Pilot: Sample{4, 4}}).factor(); got != (Range{Low: 1, Mid: 1, High: 1}) {
		t.Errorf("factor without an expert = %+v, want 1", got)
	}
}

func TestWhatARunTookHasNoRanges(t *testing.T) {
	lines := pilot().Took()
	sft, all := lines[4], lines[len(lines)-1]
	check(t, "hours of SFT", sft.Hours.Mid*3600, 9)
	check(t, "hours of devices", sft.Devices.Low*3600, 2*(3.6+500))
	check(t, "calls in all", all.Calls.High, 43)
	check(t, "bytes in all", all.Bytes.Low, 5e6)
}

func TestTheTimeToBeginIsNotScaled(t *testing.T) {
	p := Phase{Work: 100}
	p.Begins(40, 4)
	check(t, "work", p.Work, 40)
	check(t, "begin", p.Begin, 15)
	if p.Begins(50, 4); p.Work != 40 {
		t.Errorf("work after more seconds of steps than there are = %v, want 40 as before", p.Work)
	}
}

func TestTheTableShowsRanges(t *testing.T) {
	text := Text(pilot().Estimate())
	for _, want := range []string{"560 (440 to 680)", "70 MB (55 MB to 85 MB)", "GPU hours", "in all"} {
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
