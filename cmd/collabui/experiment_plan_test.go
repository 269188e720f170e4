package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/experiment/estimate"
	"github.com/collabui/collabui/internal/experiment/pilot"
	"github.com/collabui/collabui/internal/method/design"
	"github.com/collabui/collabui/workers/catalog"
)

// hour returns a phase that takes an hour in the run, and as long per unit where Playing asks for more.
func hour(name string) estimate.Phase {
	return estimate.Phase{Name: name, Work: 3600, Wall: 3600, Lanes: 1, Units: 1, Low: 1, Total: 1}
}

// planOf plans every arm of an example as if some phases and calls had been measured.
func planOf(t *testing.T, file string, m estimate.Pilot) (design.Experiment, map[string]armPlan, string) {
	t.Helper()
	x, err := loadExperiment("../../examples/experiments/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var plans []armPlan
	by := map[string]armPlan{}
	for _, a := range x.Arms {
		of, err := x.Of(a.Name, 1, catalog.All{})
		if err != nil {
			t.Fatal(err)
		}
		if by[a.Name], err = planArm(x, a, of, m); err != nil {
			t.Fatal(err)
		}
		plans = append(plans, by[a.Name])
	}
	var out bytes.Buffer
	printPlans(&out, x, 16, plans)

	return x, by, out.String()
}

func TestArmsThatShareAreBilledNoStage1(t *testing.T) {
	m := estimate.Pilot{
		Phases: []estimate.Phase{hour("stage 1, training"), hour(pilot.Updates)},
		Roles: []estimate.Role{
			{Name: "author of level 1", Calls: 1, Units: 1, Total: 1, Money: estimate.Sample{8, 8}},
			{Name: "critic", Calls: 1, Units: 1, Total: 1, Money: estimate.Sample{1, 1}},
		},
	}
	x, plans, out := planOf(t, "7b/baselines.yaml", m)
	seeds := float64(x.Seeds)
	for arm, of := range map[string]struct{ hours, money float64 }{
		"full": {2, 9}, "digirl": {1, 1}, "digirl1": {1, 1}, // the last one has other agents
	} {
		if p := plans[arm]; p.Training.Mid != of.hours*seeds || p.Money.Mid != of.money*seeds {
			t.Errorf("%s takes %v hours and money %v, want %v and %v",
				arm, p.Training, p.Money, of.hours*seeds, of.money*seeds)
		}
	}
	for _, want := range []string{
		"full           12.0 to 12.0 h", "money 54.00 to 54.00", "in all         30.0 to 30.0 h, ",
		"Chat models play 642 episodes per seed",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the plan says\n%s\nwant %q in it", out, want)
		}
	}
	for _, no := range []string{"made no pairs", "at the pace of"} {
		if strings.Contains(out, no) {
			t.Errorf("the plan says\n%s\nwant no %q in it", out, no)
		}
	}
}

func TestControlsArePlannedAsLongAsUpdates(t *testing.T) {
	x, plans, _ := planOf(t, "7b/controls.yaml", estimate.Pilot{Phases: []estimate.Phase{hour(pilot.Updates)}})
	if got, want := plans["e15"].Training.Mid, 2*float64(x.Seeds); got != want {
		t.Errorf("an arm with a control trains for %v hours, want %v", got, want)
	}
	if got, want := plans["shared"].Training.Mid, float64(x.Seeds); got != want {
		t.Errorf("an arm without a control trains for %v hours, want %v", got, want)
	}
}

func TestEpisodesArePlannedAtThePaceOfTheirSystem(t *testing.T) {
	slow := hour("evaluation, 4 agents")
	slow.Work, slow.Wall = 3*3600, 3*3600
	x, plans, out := planOf(t, "7b/generalisation.yaml", estimate.Pilot{
		Phases: []estimate.Phase{hour("evaluation, one agent"), slow},
	})
	seeds := float64(x.Seeds)
	full, raw := plans["full"], plans["raw"]
	if full.Playing.Mid != 3*float64(full.Episodes)*seeds || raw.Playing.Mid != float64(raw.Episodes)*seeds {
		t.Errorf("evaluation takes %v hours for %d episodes of four agents, and %v for %d of one, want 3 and 1 each",
			full.Playing, full.Episodes, raw.Playing, raw.Episodes)
	}
	for _, want := range []string{
		"What is played on mind2web, autowebbench is estimated at the pace of androidworld",
		"The pilot made no pairs: hours lack the updates",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the plan says\n%s\nwant %q in it", out, want)
		}
	}
	if strings.Contains(out, "money") {
		t.Errorf("the plan says\n%s\nwant no money where nothing has a price", out)
	}
}
