package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/collabui/collabui/internal/experiment/pilot"
	"github.com/collabui/collabui/internal/method/design"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers/catalog"
)

// armPlan is the estimate of an arm, of all seeds.
type armPlan struct {
	Arm      string  `json:"arm"`
	Training float64 `json:"training_hours"`
	Playing  float64 `json:"evaluation_hours"` // as if all or one of the agents played
	Money    float64 `json:"money"`            // that of training
	Episodes int     `json:"episodes"`         // that its systems play, per seed
	Asking   int     `json:"model_episodes"`   // of these, those that a chat model plays
	Unpaired bool    `json:"unpaired"`         // the pilot made no pairs, so nothing is known about its updates
	// Elsewhere are the environments other than the pilot's on which it trains or plays.
	Elsewhere []string `json:"elsewhere,omitempty"`
}

// planExperiment runs a pilot of the first arm, and scales it to all arms.
func (s *session) planExperiment(ctx context.Context, x design.Experiment, episodes int, noProbe bool) error {
	first, err := x.Of(x.Arms[0].Name, 1, catalog.All{})
	if err != nil {
		return err
	}
	p := pilot.Spec(first, episodes)
	if err := s.finish(ctx, p, noProbe); err != nil {
		return err
	}

	var plans []armPlan
	for _, a := range x.Arms {
		of, err := x.Of(a.Name, 1, catalog.All{})
		if err != nil {
			return err
		}
		m, err := pilot.Measure(ctx, s.bucket, s.temporal, of, p)
		if err != nil {
			return err
		}
		plan, err := planArm(x, a, of, m)
		if err != nil {
			return err
		}
		plans = append(plans, plan)
	}
	spent, err := runs.Run(p.Name).Spent(ctx, s.bucket)
	if err != nil {
		return err
	}

	return s.print(map[string]any{"pilot": p.Name, "spent": spent, "arms": plans}, func(w io.Writer) {
		printPlans(w, x, episodes, plans)
	})
}

// planArm scales what was measured for the specification of an arm to all seeds.
func planArm(x design.Experiment, a design.Arm, of spec.Spec, m pilot.Measured) (armPlan, error) {
	shares, _ := x.Shares(a.Name, of)
	first := a.Name == x.Arms[0].Name
	begun := a.From != "" || !first && shares != design.SharesNothing // it trains no stage 1 of its own
	plan := armPlan{Arm: a.Name}
	seeds := float64(x.Seeds)
	updates := false
	for _, l := range m.Estimate() {
		if l.Name == "in all" || begun && pilot.OfStage1(l.Name) {
			continue
		}
		times := seeds
		if strings.HasPrefix(l.Name, pilot.Updates) {
			updates = true
			if x.Imitates(a.Name) { // the control makes as many steps
				times *= 2
			}
		}
		plan.Training += times * l.Hours
		plan.Money += seeds * l.Money
	}
	plan.Unpaired = !updates && of.Epochs > 0

	elsewhere := func(environment string) {
		if !slices.Contains([]string{"", x.Spec.Environment}, environment) &&
			!slices.Contains(plan.Elsewhere, environment) {
			plan.Elsewhere = append(plan.Elsewhere, environment)
		}
	}
	elsewhere(of.Environment)
	one, two := x.Plays(a.Name)
	for _, play := range append(one, two...) {
		n := x.Episodes[play.Split]
		system, err := play.Kind.System(of, make([]string, of.Agents))
		if err != nil {
			return plan, err
		}
		plan.Episodes += n
		if system.Model != "" {
			plan.Asking += n
		}
		plan.Playing += m.Playing[pilot.Kind(system)] * seeds * float64(n)
		environment, _ := design.Elsewhere(play.Split)
		elsewhere(environment)
	}

	return plan, nil
}

func printPlans(w io.Writer, x design.Experiment, episodes int, plans []armPlan) {
	say(w, "hours of all %d seeds, by a pilot of the first arm with %d episodes; arms that share repeat no stage 1.\n"+
		"Expect between 1/%d of these figures and %[3]d times as much.\n", x.Seeds, episodes, pilot.Within)
	all := armPlan{Arm: "in all"}
	for _, p := range plans {
		all.Training += p.Training
		all.Playing += p.Playing
		all.Money += p.Money
		all.Episodes += p.Episodes
		all.Asking += p.Asking
		all.Unpaired = all.Unpaired || p.Unpaired
		all.Elsewhere = append(all.Elsewhere, p.Elsewhere...)
	}
	for _, p := range append(plans, all) {
		line := fmt.Sprintf("%-14s %.2f h, of which %.2f h for %d episodes of evaluation per seed",
			p.Arm, p.Training+p.Playing, p.Playing, p.Episodes)
		if all.Money > 0 {
			line += fmt.Sprintf(", money %.2f", p.Money)
		}
		say(w, "%s", line)
	}
	say(w, "")

	if all.Unpaired {
		say(w, "The pilot made no pairs: hours lack the updates. Another number of --episodes may make some.\n")
	}
	if len(all.Elsewhere) > 0 {
		slices.Sort(all.Elsewhere)
		say(w, "What is played on %s is estimated at the pace of %s, the environment of the first arm.\n",
			strings.Join(slices.Compact(all.Elsewhere), ", "), x.Spec.Environment)
	}
	if all.Money > 0 {
		say(w, "Money is that of training, in the currency of the models' prices.\n")
	}
	if all.Asking > 0 {
		say(w, "Chat models play %d episodes per seed: what they cost is not estimated, their hours as a policy's.\n",
			all.Asking)
	}
	printPower(w, x)
}
