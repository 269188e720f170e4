package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/collabui/collabui/internal/experiment/estimate"
	"github.com/collabui/collabui/internal/experiment/pilot"
	"github.com/collabui/collabui/internal/method/design"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers/catalog"
)

// armPlan is the estimate of an arm.
type armPlan struct {
	Arm      string         `json:"arm"`
	Training estimate.Range `json:"training_hours"`   // of all seeds
	Playing  estimate.Range `json:"evaluation_hours"` // of all seeds, as if all or one of the agents played
	Money    estimate.Range `json:"money"`            // of all seeds; that of training
	Episodes int            `json:"episodes"`         // that its systems play, per seed
	Asking   int            `json:"model_episodes"`   // of these, those that a chat model plays
	Shares   bool           `json:"shares"`           // it trains no stage 1 of its own
	Unpaired bool           `json:"unpaired"`         // the pilot made no pairs, so nothing is known about its updates
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
func planArm(x design.Experiment, a design.Arm, of spec.Spec, m estimate.Pilot) (armPlan, error) {
	shares, _ := x.Shares(a.Name, of)
	first := a.Name == x.Arms[0].Name
	plan := armPlan{Arm: a.Name, Shares: a.From != "" || !first && shares != design.SharesNothing}
	updates := false
	for _, l := range m.Estimate() {
		updates = updates || l.Name == pilot.Updates
		if l.Name != "in all" && !(plan.Shares && pilot.OfStage1(l.Name)) {
			times := x.Seeds
			if l.Name == pilot.Updates && x.Imitates(a.Name) { // the control makes as many steps
				times *= 2
			}
			plan.Training = plan.Training.Plus(l.Hours.Times(times))
			plan.Money = plan.Money.Plus(l.Money.Times(x.Seeds))
		}
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
		plan.Playing = plan.Playing.Plus(m.Playing(pilot.Phase(of, system), n*x.Seeds))
		environment, _ := design.Elsewhere(play.Split)
		elsewhere(environment)
	}

	return plan, nil
}

func printPlans(w io.Writer, x design.Experiment, episodes int, plans []armPlan) {
	say(w, "hours of all %d seeds, by a pilot of the first arm with %d episodes; arms that share repeat no stage 1\n",
		x.Seeds, episodes)
	var all armPlan
	for _, p := range plans {
		all.Training = all.Training.Plus(p.Training)
		all.Playing = all.Playing.Plus(p.Playing)
		all.Money = all.Money.Plus(p.Money)
		all.Asking += p.Asking
		all.Unpaired = all.Unpaired || p.Unpaired
		for _, e := range p.Elsewhere {
			if !slices.Contains(all.Elsewhere, e) {
				all.Elsewhere = append(all.Elsewhere, e)
			}
		}
	}
	paid := all.Money.High > 0
	for _, p := range plans {
		say(w, "%-14s %s, of which %.1f to %.1f h for %d episodes of evaluation per seed%s",
			p.Arm, p.hours(), p.Playing.Low, p.Playing.High, p.Episodes, p.money(paid))
	}
	say(w, "%-14s %s%s\n", "in all", all.hours(), all.money(paid))
	if all.Unpaired {
		say(w, "The pilot made no pairs: hours lack the updates. Another number of --episodes may make some.\n")
	}
	if len(all.Elsewhere) > 0 {
		say(w, "What is played on %s is estimated at the pace of %s, the environment of the first arm.\n",
			strings.Join(all.Elsewhere, ", "), x.Spec.Environment)
	}
	if paid {
		say(w, "Money is that of training, in the currency of the models' prices.\n")
	}
	if all.Asking > 0 {
		say(w, "Chat models play %d episodes per seed: what they cost is not estimated, their hours as a policy's.\n",
			all.Asking)
	}
	printPower(w, x)
}

// hours returns what training and playing take.
func (p armPlan) hours() string {
	of := p.Training.Plus(p.Playing)

	return fmt.Sprintf("%.1f to %.1f h", of.Low, of.High)
}

// money returns what training costs, or nothing where nothing of the experiment has a price.
func (p armPlan) money(paid bool) string {
	if !paid {
		return ""
	}

	return fmt.Sprintf(", money %.2f to %.2f", p.Money.Low, p.Money.High)
}
