package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/experiment/pilot"
	"github.com/collabui/collabui/internal/method/design"
	"github.com/collabui/collabui/workers/catalog"
)

// hour returns work that takes an hour in the run.
func hour(name string) pilot.Work {
	return pilot.Work{Line: pilot.Line{Name: name, Hours: 1}, Times: 1}
}

// planOf plans every arm of an example as if some phases and calls had been measured.
func planOf(t *testing.T, file string, m pilot.Measured) (design.Experiment, map[string]armPlan, string) {
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
	m := pilot.Measured{Works: []pilot.Work{
		hour("stage 1, training"), hour(pilot.Updates),
		{Line: pilot.Line{Name: "stage 1, questions", Money: 8}, Times: 1},
		{Line: pilot.Line{Name: "critic", Money: 1}, Times: 1},
	}}
	x, plans, out := planOf(t, "7b/baselines.yaml", m)
	seeds := float64(x.Seeds)
	for arm, of := range map[string]struct{ hours, money float64 }{
		"full": {2, 9}, "digirl": {1, 1}, "digirl1": {1, 1}, // the last one has other agents
	} {
		if p := plans[arm]; p.Training != of.hours*seeds || p.Money != of.money*seeds {
			t.Errorf("%s takes %v hours and money %v, want %v and %v",
				arm, p.Training, p.Money, of.hours*seeds, of.money*seeds)
		}
	}
	for _, want := range []string{
		"full           12.00 h", "money 54.00", "in all         30.00 h, ",
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
	x, plans, _ := planOf(t, "7b/controls.yaml", pilot.Measured{Works: []pilot.Work{hour(pilot.Updates)}})
	if got, want := plans["e15"].Training, 2*float64(x.Seeds); got != want {
		t.Errorf("an arm with a control trains for %v hours, want %v", got, want)
	}
	if got, want := plans["shared"].Training, float64(x.Seeds); got != want {
		t.Errorf("an arm without a control trains for %v hours, want %v", got, want)
	}
}

func TestEpisodesArePlannedAtThePaceOfTheirSystem(t *testing.T) {
	x, plans, out := planOf(t, "7b/generalisation.yaml", pilot.Measured{
		Playing: map[string]float64{"evaluation, one agent": 1, "evaluation, all agents": 3},
	})
	seeds := float64(x.Seeds)
	full, raw := plans["full"], plans["raw"]
	if full.Playing != 3*float64(full.Episodes)*seeds || raw.Playing != float64(raw.Episodes)*seeds {
		t.Errorf("evaluation takes %v hours for %d episodes of four agents, and %v for %d of one, want 3 and 1 each",
			full.Playing, full.Episodes, raw.Playing, raw.Episodes)
	}
	for _, want := range []string{
		"What is played on autowebbench, mind2web is estimated at the pace of androidworld",
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
