package run

import (
	"context"
	"fmt"

	preflightactivities "github.com/collabui/collabui/activities/preflight"
	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/preflight"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers"
)

// admit records the specification of a new run, after the workers have checked that it can be run to its end. A run
// with the same specification stays as it is, and a different specification under the same name is an error. A
// specification that is not admitted leaves nothing behind.
func admit(ctx context.Context, session *app.Session, wanted spec.Spec, noProbe bool, todo string) error {
	name := runs.Run(wanted.Name)
	_, known, err := name.Spec().Sure(ctx, session.Store)
	if err != nil {
		return err
	}
	if known {
		return recordSpec(ctx, session.Store, wanted, todo)
	}
	part, err := session.Store.List(ctx, name.Prefix())
	if err != nil {
		return err
	}
	if len(part) > 0 {
		return fault.New(fault.Invalid, "there is no run %s, but a part of one: a fork or a copy of that name was cut "+
			"short. Finish it with the same command as before, or choose another name", wanted.Name)
	}

	if err := workers.CheckNamespace(ctx, session.Temporal, session.Endpoints.Namespace); err != nil {
		return err
	}
	if err := preflight.Check(ctx, session, wanted.Name, preflightactivities.ID{NoProbe: noProbe}, wanted); err != nil {
		return err
	}

	return recordSpec(ctx, session.Store, wanted, todo)
}

// recordSpec records the specification of a run. If the name belongs to a different specification, it returns an error
// with the difference and what to do.
func recordSpec(ctx context.Context, bucket store.Bucket, given spec.Spec, todo string) error {
	recorded, _, err := runs.Run(given.Name).Spec().Record(ctx, bucket, func() (spec.Spec, error) { return given, nil })
	if err != nil {
		return err
	}
	if err := runs.Run(given.Name).Alive(ctx, bucket); err != nil {
		return err
	}
	if diff := difference(recorded, given); diff != "" {
		return fault.New(fault.Invalid, "run %q exists with another specification:\n%s%s", given.Name, diff, todo)
	}

	return nil
}

// anotherName explains how to start a new run of a specification whose name is taken.
func anotherName(file string) string {
	return fmt.Sprintf("choose another name for the run (in %s, or with --name) to start a new one", file)
}
