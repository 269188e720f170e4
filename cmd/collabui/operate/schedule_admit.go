package operate

import (
	"context"
	"maps"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/preflight"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/retrain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/lines"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers/catalog"
)

// admitSchedule checks what a schedule would train next: the accepted system of its line, on its environment.
func admitSchedule(ctx context.Context, s *app.Session, x retrain.Schedule, noProbe bool) error {
	of, err := trainedNext(ctx, s, x)
	if err != nil {
		return err
	}
	of.Environments = maps.Clone(of.Environments)
	if of.Environments == nil {
		of.Environments = map[string]envadapters.Options{}
	}
	maps.Copy(of.Environments, x.Environments)
	of.Environment, of.Environments[x.Environment] = x.Environment, x.Where()

	return preflight.Check(ctx, s, x.Name, activities.PreflightID{NoProbe: noProbe}, preflight.Continued(of))
}

// trainedNext returns the specification with which a schedule trains the accepted system of its line further. If there
// is no such system yet, it returns a specification with the fewest requirements of the environment.
func trainedNext(ctx context.Context, s *app.Session, x retrain.Schedule) (spec.Spec, error) {
	accepted, _, accepts, err := lines.Line(x.Line).Standing(ctx, s.Store)
	if err != nil {
		return spec.Spec{}, err
	}
	if !accepts {
		terminal.Line(s.Err, "note: line %s has no accepted system yet: the schedule fails until you accept one with %s", x.Line,
			s.Typed("line promote %s RUN --why TEXT", x.Line))
		of := spec.Default()
		of.Name, of.Credit, of.Preference = x.Name, spec.CreditOutcome, spec.PreferenceRFT
		of.Evaluation.TestSeeds, of.Evaluation.TestTemplates, of.Evaluation.TestApps = 0, 0, 0

		return of, nil
	}

	of, err := runs.Run(accepted.System.Run).At(ctx, s.Store, accepted.System.Epoch)
	if err != nil {
		return of, err
	}

	return of.Set(x.Train.Set, spec.Source{}, catalog.All{})
}
