package main

import (
	"context"
	"fmt"
	"io"

	"github.com/collabui/collabui/internal/experiment/claims"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers/catalog"
)

// experiment trains every arm of an experiment over seeds, and tests its claims.
func (s *session) experiment(ctx context.Context, o reproduceOptions, name string, x claims.Experiment) error {
	results := make([][]claims.Results, len(x.Arms)) // by arm, then by seed
	for seed := 1; seed <= o.seeds; seed++ {
		base := "" // digest of the base policy that later arms begin with
		for i, arm := range x.Arms {
			got, trained, err := s.trainArm(ctx, o, armID{experiment: name, seed: seed, base: base}, x, arm)
			if err != nil {
				return err
			}
			results[i] = append(results[i], got)
			if x.Shared && base == "" {
				base = trained
			}
			if !s.json {
				printArm(s.out, seed, arm.Name, got.Rates())
			}
		}
	}

	if err := s.writePictures(ctx, o, name, x); err != nil {
		return err
	}

	return s.printExperiment(o, x, results)
}

// armID names one run of an experiment.
type armID struct {
	experiment string
	seed       int
	base       string // policy that it begins with; empty: stage 1 makes one
}

// runName returns the name of the run of an arm and a seed.
func runName(id armID, arm claims.Arm, o reproduceOptions) string {
	return fmt.Sprintf("%s-%s-r%d-%d", id.experiment, arm.Name, id.seed, o.episodes)
}

// trainArm finishes the run of one arm and seed. It returns what is compared, and the digest of the base policy.
func (s *session) trainArm(
	ctx context.Context, o reproduceOptions, id armID, x claims.Experiment, arm claims.Arm,
) (claims.Results, string, error) {
	spec, err := x.Spec(arm, id.seed, o.episodes, catalog.All{})
	if err != nil {
		return nil, "", err
	}
	spec.Name = runName(id, arm, o)
	spec.FineTune.Base = id.base
	if err := s.finish(ctx, spec); err != nil {
		return nil, "", err
	}
	end, _, err := runs.Run(spec.Name).End().Read(ctx, s.bucket)
	if err != nil {
		return nil, "", err
	}
	base, _, err := runs.Run(spec.Name).Base().Read(ctx, s.bucket)

	return x.Results(spec, end), base.Policy.Digest, err
}

// printExperiment prints the table, and fails if a claim does not hold.
func (a *app) printExperiment(o reproduceOptions, x claims.Experiment, results [][]claims.Results) error {
	rates, tokens := make([][]claims.Rates, len(results)), make([]claims.Tokens, len(results))
	for i, seeds := range results {
		tokens[i] = claims.TokensOf(seeds)
		for _, r := range seeds {
			rates[i] = append(rates[i], r.Rates())
		}
	}
	table := x.Test(rates)
	tested := make([]claims.Claim, len(table))
	for i, row := range table {
		tested[i] = row.Claim
	}
	shown := map[string]any{
		"about": x.About, "seeds": o.seeds, "episodes": o.episodes, "claims": tested, "rates": rates,
		"tokens_per_success": tokens,
	}
	err := a.print(shown, func(w io.Writer) {
		say(w, "\n%s", x.About)
		say(w, "%d seeds, %d paired episodes per system and seed; mean rates, their difference in points with "+
			"t-intervals over seeds at 95 %%\n", o.seeds, o.episodes)
		for _, r := range table {
			say(w, "%-44s %5.1f − %5.1f = %+6.1f  [%+.1f, %+.1f]  %s",
				r.Name, r.This, r.That, r.Mean, r.Low, r.High, r.Verdict())
		}
		printTokens(w, x.Arms, tokens)
	})
	if err != nil {
		return err
	}

	return failed(tested)
}

// printTokens prints the tokens per success of every arm.
func printTokens(w io.Writer, arms []claims.Arm, tokens []claims.Tokens) {
	say(w, "\ntokens of the agents per success, prompts and answers, over all seeds")
	for i, arm := range arms {
		for _, kind := range sortedKeys(tokens[i]) {
			say(w, "%-44s %8.0f", arm.Name+", "+kind, tokens[i][kind])
		}
	}
}

func printArm(w io.Writer, seed int, arm string, rates claims.Rates) {
	line := fmt.Sprintf("seed %d, %s:", seed, arm)
	for _, kind := range sortedKeys(rates) {
		line += fmt.Sprintf(" %s %.1f %%", kind, 100*rates[kind])
	}
	say(w, "%s", line)
}
