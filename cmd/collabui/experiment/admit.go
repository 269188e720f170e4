package experiment

import (
	"context"
	"slices"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/preflight"
	"github.com/collabui/collabui/internal/method/design"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/experiments"
	"github.com/collabui/collabui/workers/catalog"
)

// admitExperiment checks all arms of an experiment that has not been declared yet, and the models that play in it.
func admitExperiment(ctx context.Context, s *app.Session, x design.Experiment, noProbe bool) error {
	known, err := experiments.Experiment(x.Name).Versions(ctx, s.Store)
	if err != nil || len(known) > 0 {
		return err
	}
	id := activities.PreflightID{NoProbe: noProbe}
	var all []spec.Spec
	for _, arm := range x.Arms {
		of, err := x.Of(arm.Name, 1, catalog.All{})
		if err != nil {
			return err
		}
		one, two := x.Plays(arm.Name)
		for _, p := range append(one, two...) {
			if _, ok := of.Models[spec.Role(p.Kind.Of)]; ok && !slices.Contains(id.Models, p.Kind.Of) {
				id.Models = append(id.Models, p.Kind.Of)
			}
			environment, split := design.Elsewhere(p.Split)
			where := spec.Elsewhere{Environment: environment, Split: split}
			if environment != "" && !slices.Contains(of.Evaluation.OutOfDistribution, where) {
				of.Evaluation.OutOfDistribution = append(of.Evaluation.OutOfDistribution, where)
			}
		}
		if arm.From != "" {
			of = preflight.Continued(of)
		}
		all = append(all, of)
	}

	return preflight.Check(ctx, s, x.Name, id, all...)
}
