package operate

import (
	"context"
	"maps"

	preflightactivities "github.com/collabui/collabui/activities/preflight"
	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/preflight"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/retrain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/workers/catalog"
)

// admitSchedule checks what a schedule would train next: the accepted system of its line, on its environment.
func admitSchedule(ctx context.Context, session *app.Session, schedule retrain.Schedule, noProbe bool) error {
	of, err := trainedNext(ctx, session, schedule)
	if err != nil {
		return err
	}
	of.Environments = maps.Clone(of.Environments)
	if of.Environments == nil {
		of.Environments = map[string]envadapters.Options{}
	}
	maps.Copy(of.Environments, schedule.Environments)
	of.Environment = schedule.Environment
	of.Environments[schedule.Environment] = schedule.Where()

	return preflight.Check(ctx, session, schedule.Name, preflightactivities.ID{NoProbe: noProbe},
		preflight.Continued(of))
}

// trainedNext returns the specification with which a schedule trains the accepted system of its line further. If there
// is no such system yet, it returns a specification with the fewest requirements of the environment.
func trainedNext(ctx context.Context, session *app.Session, schedule retrain.Schedule) (spec.Spec, error) {
	accepted, _, accepts, err := lines.Line(schedule.Line).Standing(ctx, session.Store)
	if err != nil {
		return spec.Spec{}, err
	}
	if !accepts {
		terminal.Line(session.Err,
			"note: line %s has no accepted system yet: the schedule fails until you accept one with %s", schedule.Line,
			session.Typed("line promote %s RUN --why TEXT", schedule.Line))
		of := spec.Default()
		of.Name = schedule.Name
		of.Credit = spec.CreditOutcome
		of.Preference = spec.PreferenceRFT
		of.Evaluation.TestSeeds = 0
		of.Evaluation.TestTemplates = 0
		of.Evaluation.TestApps = 0

		return of, nil
	}

	of, err := runs.Run(accepted.System.Run).At(ctx, session.Store, accepted.System.Epoch)
	if err != nil {
		return of, err
	}

	return of.Set(schedule.Train.Set, spec.Source{}, catalog.All{})
}
