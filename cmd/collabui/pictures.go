package main

import (
	"context"
	"fmt"
	"math"
	"os"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/experiment/plot"
	"github.com/collabui/collabui/internal/method/design"
	"github.com/collabui/collabui/internal/store/runs"
)

// writePictures draws what the flags of reproduce ask for.
func (s *session) writePictures(ctx context.Context, o reproduceOptions, x design.Experiment) error {
	if o.logprobs != "" {
		if err := s.writeLogProbs(ctx, o, x); err != nil {
			return err
		}
	}
	if o.curve == "" {
		return nil
	}

	var curves []plot.Curve
	for seed := 1; seed <= x.Seeds; seed++ {
		run := x.Run(x.Arms[0].Name, seed)
		end, _, err := runs.Run(run).End().Must(ctx, s.bucket)
		if err != nil {
			return err
		}
		curves = append(curves, plot.Curve{Name: run, Points: end.Curve})
	}
	title := fmt.Sprintf("success on val by epoch, %d seeds and their mean", x.Seeds)

	return writeCurves(o.curve, title, append(curves, plot.Mean(curves))...)
}

// writeLogProbs draws log π(chosen) and log π(rejected) by epoch of the first two arms of an experiment, as means over
// seeds and agents. Epoch 0 is the policy from which the first epoch's update began.
func (s *session) writeLogProbs(ctx context.Context, o reproduceOptions, x design.Experiment) error {
	arms := x.Arms[:min(2, len(x.Arms))]
	epochs, err := s.allCommitted(ctx, x, arms)
	if err != nil {
		return err
	}
	var curves []plot.Curve
	for i, arm := range arms {
		chosen := plot.Curve{Name: arm.Name + ": chosen", Color: []string{"#1b7837", "#762a83"}[i]}
		rejected := plot.Curve{Name: arm.Name + ": rejected", Color: []string{"#5aae61", "#9970ab"}[i]}
		for seed := 1; seed <= x.Seeds; seed++ {
			run := runs.Run(x.Run(arm.Name, seed))
			sp, err := run.At(ctx, s.bucket, 1)
			if err != nil {
				return err
			}
			if err := s.addLogProbs(ctx, run, epochs, sp.Agents, x.Seeds, &chosen, &rejected); err != nil {
				return err
			}
		}
		curves = append(curves, chosen, rejected)
	}

	picture := plot.LogProbs("log-probability of chosen and rejected answers by epoch, in nats", curves)
	if err := os.WriteFile(o.logprobs, []byte(picture), 0o600); err != nil {
		return fault.New(fault.Invalid, "--logprobs: %w", err)
	}

	return nil
}

// allCommitted returns how many epochs all runs of some arms have: one that stops early has fewer.
func (s *session) allCommitted(ctx context.Context, x design.Experiment, arms []design.Arm) (int, error) {
	least := math.MaxInt
	for _, arm := range arms {
		for seed := 1; seed <= x.Seeds; seed++ {
			n, err := runs.Run(x.Run(arm.Name, seed)).Committed(ctx, s.bucket)
			if err != nil {
				return 0, err
			}
			least = min(least, n)
		}
	}

	return least, nil
}

// addLogProbs adds a run's share of the means over so many seeds.
func (s *session) addLogProbs(
	ctx context.Context, run runs.Run, epochs, agents, seeds int, chosen, rejected *plot.Curve,
) error {
	share := 1 / float64(seeds*agents)
	add := func(c *plot.Curve, epoch int, v float64) {
		for len(c.Points) <= epoch {
			c.Points = append(c.Points, runs.EvalPoint{At: len(c.Points)})
		}
		c.Points[epoch].Rate += share * v
	}

	for epoch := 1; epoch <= epochs; epoch++ {
		for agent := range agents {
			u, _, err := run.Update(epoch, agent).Must(ctx, s.bucket)
			if err != nil {
				return err
			}
			if epoch == 1 {
				add(chosen, 0, u.Probe.Chosen.Parent)
				add(rejected, 0, u.Probe.Rejected.Parent)
			}
			add(chosen, epoch, u.Probe.Chosen.Policy)
			add(rejected, epoch, u.Probe.Rejected.Policy)
		}
	}

	return nil
}
