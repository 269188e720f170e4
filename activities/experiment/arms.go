// Package experiment has the activities that prepare the arms of experiments as runs, choose what they play, and test
// the contrasts.
package experiment

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/fork"
	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/internal/records/runs"
)

// Control prepares the arms of experiments, chooses what they play, and tests their contrasts.
type Control struct {
	activities.Common
}

// ID names a version of an experiment's declaration.
type ID struct {
	Name    string
	Version int
}

// log returns the logger of an experiment.
func (id ID) log(log activities.Log) *slog.Logger {
	return log.For("", "experiment", id.Name, "version", id.Version)
}

// ArmID names an arm of an experiment for a seed.
type ArmID struct {
	ID
	Arm  string
	Seed int
	At   time.Time // when the arm was begun
}

// Layout is what a workflow needs of an experiment.
type Layout struct {
	Arms  []string
	Seeds int
}

// Layout returns the arms and the number of seeds of an experiment.
func (c *Control) Layout(ctx context.Context, id ID) (Layout, error) {
	return activities.Do(ctx, id.log(c.Log), func(ctx context.Context, _ activities.Progress) (Layout, error) {
		version, _, err := experiments.Experiment(id.Name).Version(id.Version).Must(ctx, c.Bucket)
		layout := Layout{Seeds: version.Experiment.Seeds}
		for _, arm := range version.Experiment.Arms {
			layout.Arms = append(layout.Arms, arm.Name)
		}

		return layout, err
	})
}

// Prepared is the run of an arm.
type Prepared struct {
	Run   string
	Ended bool
}

// Prepare makes the run of an arm. It shares what is equal with the run of the first arm, which has ended: it is a fork
// before the first epoch, or has only the base policy of that run. An arm that trains another one further is a fork of
// the run of that arm. Prepare may be repeated.
func (c *Control) Prepare(ctx context.Context, id ArmID) (Prepared, error) {
	return activities.Do(ctx, id.log(c.Log), func(ctx context.Context, _ activities.Progress) (Prepared, error) {
		version, _, err := experiments.Experiment(id.Name).Version(id.Version).Must(ctx, c.Bucket)
		if err != nil {
			return Prepared{}, err
		}
		specification, err := version.Experiment.Of(id.Arm, id.Seed, c.Catalog)
		if err != nil {
			return Prepared{}, err
		}
		ended, err := runs.Run(specification.Name).End().Exists(ctx, c.Bucket)
		if err == nil && !ended {
			err = c.makeRun(ctx, id, version, specification)
		}

		return Prepared{Run: specification.Name, Ended: ended}, err
	})
}

// makeRun makes the run of an arm, whose specification is given.
func (c *Control) makeRun(
	ctx context.Context, id ArmID, version experiments.Version, given spec.Spec,
) error {
	declared := version.Experiment
	if from := declared.Arm(id.Arm).From; from != "" {
		return c.extendArm(ctx, id, version, given, from)
	}
	first := declared.Arms[0].Name
	shares, differ := declared.Shares(id.Arm, given)
	switch {
	case id.Arm == first:
	case shares == experiment.SharesRun:
		return c.forkArm(ctx, id, version, given, runs.Run(declared.Run(first, id.Seed)), differ)
	case shares == experiment.SharesBase:
		base, _, err := runs.Run(declared.Run(first, id.Seed)).Base().Must(ctx, c.Bucket)
		if err != nil {
			return err
		}
		given.FineTune.Base = base.Policy.Digest
		given.FineTune.Levels = nil // it has been trained on them
		given.FineTune.Data = spec.LevelData{}
	}
	got, _, err := runs.Run(given.Name).Spec().Record(ctx, c.Bucket, func() (spec.Spec, error) { return given, nil })
	if err == nil && runs.Digest(got) != runs.Digest(given) {
		err = fault.New(fault.Invalid, "there is a run %s of another specification: give the experiment another "+
			"name, or delete the run", given.Name)
	}

	return err
}

// forkArm makes the run of an arm as a fork of the run of the first arm.
func (c *Control) forkArm(
	ctx context.Context, id ArmID, version experiments.Version, given spec.Spec, from runs.Run, keys map[string]string,
) error {
	typed := map[string]string{}
	own := version.Experiment.Arm(id.Arm).Set
	for key := range keys {
		value, ok := own[key]
		if !ok { // only the first arm sets it
			value, ok = given.Value(key)
		}
		if !ok {
			return fault.New(fault.Invalid, "arm %s: say the value of %s, which the first arm has, too", id.Arm, key)
		}
		typed[key] = value
	}

	return c.fork(ctx, id, version, fork.Request{Run: from, Typed: typed})
}

// extendArm makes the run of an arm, whose specification is specification, that trains the best system of another arm
// further.
func (c *Control) extendArm(
	ctx context.Context, id ArmID, version experiments.Version, specification spec.Spec, arm string,
) error {
	declared := version.Experiment
	from := runs.Run(declared.Run(arm, id.Seed))
	end, _, err := from.End().Must(ctx, c.Bucket)
	if err != nil {
		return err
	}
	epoch, err := c.standing(ctx, from, end.Best)
	if err != nil {
		return err
	}

	typed := maps.Clone(declared.Arm(id.Arm).Set)
	for key, value := range declared.Arm(arm).Set {
		if typed[key] == value {
			delete(typed, key)
		}
	}
	typed["epochs"] = fmt.Sprint(epoch + specification.Epochs)

	return c.fork(ctx, id, version, fork.Request{Run: from, Epoch: epoch, Typed: typed})
}

// fork makes the run of an arm as a fork.
func (c *Control) fork(
	ctx context.Context, id ArmID, version experiments.Version, request fork.Request,
) error {
	request.Name = runs.Run(version.Experiment.Run(id.Arm, id.Seed))
	request.At = id.At
	request.Who = version.Who
	request.Why = fmt.Sprintf("arm %s of experiment %s", id.Arm, id.Name)
	plan, err := fork.Plan(ctx, c.Bucket, request, spec.Source{}, c.Catalog)
	if err != nil {
		return err
	}

	return plan.Make(ctx, c.Bucket, func(int) {})
}

// standing returns the epoch whose system stands at the end of a run: the best epoch on val or, if none is, the epoch
// with which a fork began.
func (c *Control) standing(ctx context.Context, run runs.Run, best int) (int, error) {
	if best > 0 {
		return best, nil
	}
	origin, _, err := run.Origin().Sure(ctx, c.Bucket)

	return origin.Epoch, err
}
