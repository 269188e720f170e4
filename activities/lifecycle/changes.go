package lifecycle

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// SetID is a change of a run's values by a person.
type SetID struct {
	Run    string
	Change runs.Change       // without values
	Typed  map[string]string // values in YAML by key
}

// Recorded is a change by a person, and its number.
type Recorded struct {
	Change runs.Change
	Number int
}

// Set records other values of keys of a specification: see runs.Run.Set.
func (c *Control) Set(ctx context.Context, id SetID) (Recorded, error) {
	log := c.Log.For(id.Run)

	return activities.Do(ctx, log, func(ctx context.Context, _ activities.Progress) (out Recorded, err error) {
		out.Change, out.Number, err = runs.Run(id.Run).Set(ctx, c.Bucket, id.Change, id.Typed, spec.Source{}, c.Catalog)

		return out, err
	})
}

// DoneID is what a person did to a run.
type DoneID struct {
	Run    string
	Change runs.Change
}

// Note records what a person did to a run, and returns the number of the change.
func (c *Control) Note(ctx context.Context, id DoneID) (int, error) {
	return activities.Do(ctx, c.Log.For(id.Run), func(ctx context.Context, _ activities.Progress) (int, error) {
		return runs.Run(id.Run).Append(ctx, c.Bucket, id.Change)
	})
}

// Stopped returns who stopped a run that has not ended, and why. It is empty if somebody has resumed the run since. The
// run may continue all the same: training a stopped run again records nothing.
func (c *Control) Stopped(ctx context.Context, run string) (string, error) {
	return activities.Do(ctx, c.Log.For(run), func(ctx context.Context, _ activities.Progress) (string, error) {
		_, ended, err := runs.Run(run).End().Sure(ctx, c.Bucket)
		if err != nil || ended {
			return "", err
		}
		changes, err := runs.Run(run).Changes(ctx, c.Bucket, 0, 0)
		why := ""
		for _, change := range changes {
			switch change.Verb {
			case runs.VerbStop:
				why = fmt.Sprintf("%s stopped it: %s", change.Who, change.Why)
			case runs.VerbResume:
				why = ""
			}
		}

		return why, err
	})
}
