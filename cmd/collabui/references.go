package main

import (
	"context"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
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
			r, err := activities.Refer(ctx, suite, name, system)
			if err != nil {
				return nil, err
			}
			results = append(results, r)
		}
	}

	return results, nil
}
