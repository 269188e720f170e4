package experiment

import (
	"context"
	"slices"

	preflightactivities "github.com/collabui/collabui/activities/preflight"
	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/preflight"
	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/workers/catalog"
)

// admitExperiment checks all arms of an experiment that has not been declared yet, and the models that play in it.
func admitExperiment(ctx context.Context, session *app.Session, declared experiment.Experiment, noProbe bool) error {
	known, err := experiments.Experiment(declared.Name).Versions(ctx, session.Store)
	if err != nil || len(known) > 0 {
		return err
	}
	id := preflightactivities.ID{NoProbe: noProbe}
	var all []spec.Spec
	for _, arm := range declared.Arms {
		of, err := declared.Of(arm.Name, 1, catalog.All{})
		if err != nil {
			return err
		}
		one, two := declared.Plays(arm.Name)
		for _, play := range append(one, two...) {
			if _, ok := of.Models[spec.Role(play.Kind.Of)]; ok && !slices.Contains(id.Models, play.Kind.Of) {
				id.Models = append(id.Models, play.Kind.Of)
			}
			environment, split := experiment.Elsewhere(play.Split)
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

	return preflight.Check(ctx, session, declared.Name, id, all...)
}
