// Package experiments keeps experiments: their declarations and their results. A declaration is a log of versions, each
// written once and before anything is played for it, so that a contrast added later is visible as such.
package experiments

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Experiment is an experiment, identified by its name.
type Experiment string

// Version is a version of an experiment's declaration.
type Version struct {
	Number     int                   `json:"number"` // from 1
	Experiment experiment.Experiment `json:"experiment"`
	Digest     string                `json:"digest"` // of the declaration
	Who        string                `json:"who"`
	At         time.Time             `json:"at"`
}

// Result is the outcome of a version.
type Result struct {
	Version int    `json:"version"`
	Digest  string `json:"digest"` // of the declaration

	Rows []experiment.Row `json:"rows"`
	// Systems are the results of all systems, by seed and under ARM/SYSTEM on SPLIT.
	Systems []map[string]runs.Result `json:"systems"`
	// Figures are further figures of all systems, over all seeds, by ARM/SYSTEM on SPLIT.
	Figures map[string]experiment.Figures `json:"figures"`
	// Readers counts what became of the answers of agents that read messages, over all seeds, by ARM/SYSTEM on SPLIT,
	// if right actions are known.
	Readers map[string]Readers `json:"readers,omitempty"`
	// Updates counts the updates of an arm that took effect, over all seeds.
	Updates map[string]Updates `json:"updates,omitempty"`
}

// Updates counts the updates of a run: one for every agent and epoch.
type Updates struct {
	Counted int `json:"counted"` // updates whose policy is not the parent
	All     int `json:"all"`
}

// ReadUpdates counts the updates of a run's committed epochs. If an epoch kept its old system, its updates do not
// count.
func ReadUpdates(ctx context.Context, bucket store.Bucket, run runs.Run) (Updates, error) {
	var out Updates
	committed, err := run.Committed(ctx, bucket)
	if err != nil {
		return out, err
	}
	for n := 1; n <= committed; n++ {
		epoch, _, err := run.Epoch(n).Must(ctx, bucket)
		if err != nil {
			return out, err
		}
		for _, ref := range epoch.Updates {
			update, _, err := store.Must[runs.Update](ctx, bucket, ref.Key)
			if err != nil {
				return out, err
			}
			out.All++
			if update.Kept == "" && epoch.Kept == "" {
				out.Counted++
			}
		}
	}

	return out, nil
}

// prefix is the folder of all experiments.
const prefix = "experiments/"

// Version returns version n of an experiment's declaration.
func (x Experiment) Version(n int) runs.Object[Version] {
	return runs.Object[Version]{Key: fmt.Sprintf("%s%s/declared/%04d.json", prefix, x, n)}
}

// Result returns the outcome of a version.
func (x Experiment) Result(n int) runs.Object[Result] {
	return runs.Object[Result]{Key: fmt.Sprintf("%s%s/results/%04d.json", prefix, x, n)}
}

// Keys returns the keys of the objects of all experiments.
func Keys(ctx context.Context, bucket store.Bucket) ([]string, error) {
	return store.Keys(ctx, bucket, prefix)
}

// Versions returns all versions of a declaration, in order.
func (x Experiment) Versions(ctx context.Context, bucket store.Bucket) ([]Version, error) {
	return runs.Log[Version](x.Version).After(ctx, bucket, 0, 0)
}

// Declare records a declaration, unless the newest version is the same. It returns an invalid fault if it has other
// arms, another specification or fewer episodes than the previous version, because the played episodes would not be the
// declared ones.
func Declare(
	ctx context.Context, bucket store.Bucket, x experiment.Experiment, who string, at time.Time,
) (Version, error) {
	name := Experiment(x.Name)
	all, err := name.Versions(ctx, bucket)
	if err != nil {
		return Version{}, err
	}
	version := Version{Number: len(all) + 1, Experiment: x, Digest: runs.Digest(x), Who: who, At: at}
	if len(all) > 0 {
		last := all[len(all)-1]
		if last.Digest == version.Digest {
			return last, nil
		}
		if err := extends(last.Experiment, x); err != nil {
			return version, err
		}
	}
	got, _, err := name.Version(version.Number).Record(ctx, bucket, func() (Version, error) { return version, nil })
	if err == nil && got.Digest != version.Digest {
		err = fault.New(fault.Invalid, "experiment %s: %s declared another version at the same time: try again",
			x.Name, got.Who)
	}

	return got, err
}

// extends returns an error unless the next declaration includes all episodes that are played for the old one.
func extends(old, declared experiment.Experiment) error {
	for _, a := range old.Arms {
		i := slices.IndexFunc(declared.Arms, func(arm experiment.Arm) bool { return arm.Name == a.Name })
		if i >= 0 && (runs.Digest(declared.Arms[i].Set) != runs.Digest(a.Set) || declared.Arms[i].From != a.From) {
			return fault.New(fault.Invalid, "experiment %s: arm %s has other values than when it was declared: "+
				"give the arm, or the experiment, another name", declared.Name, a.Name)
		}
	}
	if runs.Digest(old.Spec) != runs.Digest(declared.Spec) || old.Arms[0].Name != declared.Arms[0].Name {
		return fault.New(fault.Invalid, "experiment %s: its specification or its first arm has changed since it was "+
			"declared: give the experiment another name", declared.Name)
	}
	for split, n := range declared.Episodes {
		if m := old.Episodes[split]; m > 0 && m != n {
			return fault.New(fault.Invalid, "experiment %s: %d episodes of %s were declared, not %d: give the "+
				"experiment another name", declared.Name, m, split, n)
		}
	}

	return nil
}

// Judge tests the contrasts of a version, and marks the contrasts that were declared, or had a seed added, when results
// were known.
func (v Version) Judge(before []Version, known func(version int) bool, episodes experiment.Episodes) []experiment.Row {
	rows := v.Experiment.Test(episodes)
	for i := range rows {
		rows[i].Version = v.Number
		for _, b := range slices.Backward(before) {
			if b.Experiment.Seeds != v.Experiment.Seeds || !slices.Contains(b.Experiment.Contrasts, rows[i].Contrast) {
				break
			}
			rows[i].Version = b.Number
		}
		rows[i].Late = known(rows[i].Version - 1)
	}

	return rows
}
