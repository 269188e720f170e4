package main

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/experiment/estimate"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workers/catalog"
)

func planCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "plan SPEC", Short: "Play a pilot of a few episodes and reckon calls, tokens, money, hours and disk of the whole run", Example: "  collabui plan my.yaml --episodes 8", Args: cobra.ExactArgs(1),
		Long: "plan plays a pilot of the specification: every stage with a few episodes, a run of its own in the store, with the same endpoints and budget. What it took is scaled to the run;\nranges come from the spread between the pilot's episodes and calls, and from the length of an expert's episodes, since the pilot's policy is barely trained.\nThe pilot of an unchanged specification is played once. Nothing of the run itself is begun."}
	episodes := c.Flags().Int("episodes", 8, "of the pilot, per stage")
	tabs := c.Flags().Int("tabs", defaultTabs, "episodes at once")
	ext := externals(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := spec.Load(args[0], catalog.All{})
		if err != nil {
			return err
		}
		if *episodes < 2 || *episodes > 100 {
			return fault.New(fault.Invalid, "--episodes must be from 2 to 100, not %d", *episodes)
		}
		p := pilotOf(s, *episodes)
		e, err := ext()
		if err != nil {
			return err
		}
		if err := a.ensureUp(c.Context(), e, *tabs); err != nil {
			return err
		}
		b, points, err := a.bucket()
		if err != nil {
			return err
		}
		t, err := workers.Dial(c.Context(), points, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		defer t.Close()
		if err := a.finishRun(c.Context(), b, t, points.Namespace, p); err != nil {
			return err
		}
		m, err := measure(c.Context(), b, t, s, p)
		if err != nil {
			return err
		}
		spent, err := runs.Run(p.Name).Spent(c.Context(), b)
		if err != nil {
			return err
		}
		lines := m.Estimate()
		return a.print(map[string]any{"pilot": p.Name, "pilot_spent": spent, "estimate": lines}, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "%s, reckoned from run %s: %d episodes, %d calls to chat endpoints, cost %.4f\n\n%s", s.Name, p.Name, *episodes, spent.Calls, spent.Money, estimate.Text(lines))
			_, _ = fmt.Fprintf(w, "\nmoney is that of chat endpoints with prices in the specification; hours are those of this machine with %d episodes at once\n", *tabs)
			if n := len(s.Evaluation.OutOfDistribution); n > 0 {
				_, _ = fmt.Fprintf(w, "not reckoned: the %d evaluations out of distribution, whose environments take times of their own\n", n)
			}
		})
	}
	return c
}

// pilotOf is a specification with a few episodes at every stage. Its name tells it from pilots of other specifications.
func pilotOf(s spec.Spec, episodes int) spec.Spec {
	p := s
	p.Epochs, p.Slots, p.FineTune.Demonstrations = min(s.Epochs, 1), min(s.Slots, episodes), min(s.FineTune.Demonstrations, episodes)
	p.FineTune.ChunkSteps, p.FineTune.MaxChunks = min(s.FineTune.ChunkSteps, pilotSteps), 1
	for _, n := range []*int{&p.FineTune.Steps.Level1, &p.FineTune.Steps.Level2, &p.FineTune.Steps.Level3, &p.FineTune.Steps.Preference} {
		*n = min(*n, pilotSteps)
	}
	p.Synthesis.Screens, p.Synthesis.Pairs = min(s.Synthesis.Screens, 2*episodes), min(s.Synthesis.Pairs, 2*episodes)
	p.Evaluation.Val, p.Evaluation.TestSeeds, p.Evaluation.TestTemplates, p.Evaluation.Every = min(s.Evaluation.Val, episodes), 0, 0, 1
	p.Evaluation.OutOfDistribution = nil
	p.Pairs.MinPairs, p.FailedShare = 1, 1
	p.Name = fmt.Sprintf("%.24s-pilot-%.8s", s.Name, runs.Digest(p))
	return p
}

// pilotSteps is the number of optimiser steps of each of a pilot's jobs.
const pilotSteps = 20
