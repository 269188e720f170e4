package main

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
)

// runReferences is eval without RUN: it evaluates the systems without policies on recorded tasks.
func (a *app) runReferences(ctx context.Context, o evalOptions) error {
	if o.environment == "" {
		return fault.New(fault.Invalid, "name a RUN, or an environment of recorded tasks with --environment")
	}
	if err := o.env.only(o.environment); err != nil {
		return err
	}
	suite, err := o.env.open(o.environment)
	if err != nil {
		return err
	}
	defer func() { _ = suite.Close() }()
	if h := suite.Check(ctx); h.State == envadapters.Dead {
		return fault.New(fault.Invalid, "%s: %s; %s", o.environment, h.Detail, h.Fix)
	}
	if envadapters.ProtocolOf(suite) == "" {
		return fault.New(fault.Invalid, "%s has no recorded tasks: evaluate a RUN on it", suite.Title())
	}

	results, err := evaluateReferences(ctx, suite, o.split)
	if err != nil {
		return err
	}
	if len(results) == 0 {
		return fault.New(fault.Invalid, "%s has no split %q; it has %v", o.environment, o.split, suite.Splits())
	}
	if !a.json {
		printResults(a.out, results)
		return nil
	}
	for _, r := range results {
		if err := a.print(r, nil); err != nil {
			return err
		}
	}

	return nil
}

// evaluateReferences evaluates on one split, or on all but train if none is named.
func evaluateReferences(ctx context.Context, suite envadapters.Suite, split string) ([]runs.Result, error) {
	var results []runs.Result
	for _, name := range suite.Splits() {
		if split != "" && name != split || split == "" && name == domain.SplitTrain {
			continue
		}
		for _, system := range rules.References() {
			r, err := evaluateReference(ctx, suite, name, system)
			if err != nil {
				return nil, err
			}
			results = append(results, r)
		}
	}

	return results, nil
}

// evaluateReference evaluates a reference, which has no policies, on a split: every template once, in this process and
// without a store.
func evaluateReference(
	ctx context.Context, suite envadapters.Suite, split string, system rules.EvalSystem,
) (runs.Result, error) {
	templates, err := suite.Templates(split)
	if err != nil {
		return runs.Result{}, err
	}

	v := episode.Evaluation{Spec: spec.Default(), System: system, Split: split}
	var outcomes []domain.Outcome
	wins := 0
	for i := range templates {
		task, err := rules.EvalTask(v.Spec, suite, split, i)
		if err != nil {
			return runs.Result{}, err
		}
		err = episode.In(ctx, suite, v.Family(suite), func(env envadapters.Environment) error {
			player, _, err := v.Player(env, i)
			if err != nil {
				return err
			}
			played, err := player.Play(ctx, env, task)
			if err != nil {
				return err
			}
			if outcomes = append(outcomes, played.Outcome); played.Outcome.Success {
				wins++
			}

			return nil
		})
		if err != nil {
			return runs.Result{}, err
		}
	}

	result := runs.NewResult(system.Name, split, wins, len(templates), 0, system.Decoding())
	if protocol := envadapters.ProtocolOf(suite); protocol != "" {
		result = runs.NewRecorded(system.Name, split, envadapters.StepSR, system.Decoding(), outcomes)
		result.Protocol = protocol
	}
	result.Environment = suite.Title()

	return result, nil
}
