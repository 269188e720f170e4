package retrain

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/epoch"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
	"github.com/collabui/collabui/internal/store"
)

// driftSplit labels the episodes of the check for drift.
const driftSplit = "drift"

// PlanDrift returns what the accepted system plays to be checked: tasks of val that it knew. Without items, it cannot
// be checked, because its result on val is not known.
func (c *Control) PlanDrift(ctx context.Context, id FiringID) ([]rules.EvalItem, error) {
	log := id.log(c.Log)

	return activities.Do(ctx, log, func(ctx context.Context, _ activities.Progress) ([]rules.EvalItem, error) {
		firing, version, err := c.firing(ctx, id)
		if err != nil {
			return nil, err
		}
		specification, _, err := c.Runs.Latest(ctx, firing.Run, 0) // the run trains nothing yet
		if err != nil {
			return nil, err
		}
		suite, err := c.Suites.Get(ctx, specification.Where(specification.Environment))
		if err != nil {
			return nil, err
		}
		before, err := c.reached(ctx, firing.Accepted)
		if err != nil || before == nil {
			return nil, err
		}
		tasks := make([]domain.Task, version.Schedule.Drift.Episodes)
		for i := range tasks {
			tasks[i], err = rules.EvalTask(specification, suite, domain.SplitVal, i)
			if err != nil {
				return nil, err
			}
		}
		accepted := rules.AllAgents(specification, nameAccepted, firing.Accepted.Digests())
		item, err := c.item(ctx, firing, accepted, driftSplit, tasks)

		return []rules.EvalItem{item}, err
	})
}

// retrained returns the specification with which a firing's run has ended, and its suite.
func (c *Control) retrained(ctx context.Context, firing schedules.Firing) (spec.Spec, envadapters.Suite, error) {
	specification, err := c.Runs.Spec(ctx, firing.Run, activities.AtEnd)
	if err != nil {
		return specification, nil, err
	}
	suite, err := c.Suites.Get(ctx, specification.Where(specification.Environment))

	return specification, suite, err
}

// reached returns what an accepted system reached on val when it was made, or nil if it was not evaluated. A base
// policy is only evaluated by a run that trains it further.
func (c *Control) reached(ctx context.Context, system lines.SystemRef) (*runs.Result, error) {
	specification, err := runs.Run(system.Run).At(ctx, c.Bucket, system.Epoch)
	if err != nil {
		return nil, err
	}
	if system.Epoch == 0 {
		base := epoch.ValResult(system.Run, 0, rules.ValName(specification, 0))
		_, evaluated, err := base.Sure(ctx, c.Bucket)
		if err != nil || !evaluated {
			return nil, err
		}
	}

	return epoch.Val(ctx, c.Bucket, specification, system.Epoch)
}

// Systems that a firing evaluates.
const (
	nameAccepted  = "accepted"
	nameRetrained = "retrained"
)

// gateFolder is the folder of a firing's evaluations, below the evaluations of its run.
const gateFolder = "gate"

// item returns an evaluation of given tasks, which it records under the firing's run: gc keeps what a record names.
func (c *Control) item(
	ctx context.Context, firing schedules.Firing, system rules.EvalSystem, split string, tasks []domain.Task,
) (rules.EvalItem, error) {
	played, _, err := runs.Run(firing.Run).Tasks(split).Record(ctx, c.Bucket, func() (runs.Tasks, error) {
		raw, err := json.Marshal(tasks)
		if err != nil {
			return runs.Tasks{}, fault.As(fault.Fatal, err)
		}
		ref, err := store.PutBlob(ctx, c.Bucket, raw)

		return runs.Tasks{Tasks: ref}, err
	})

	return rules.EvalItem{
		Run: firing.Run, Folder: gateFolder, System: system, Split: split, Episodes: len(tasks),
		AtEnd: split != driftSplit, Tasks: played.Tasks.SHA256,
	}, err
}

// Drifted reports whether the accepted system fell below the interval of what it reached on val when it was made, with
// both results in words.
func (c *Control) Drifted(ctx context.Context, r Checked) (Drift, error) {
	return activities.Do(ctx, r.Firing.log(c.Log), func(ctx context.Context, _ activities.Progress) (Drift, error) {
		firing, _, err := c.firing(ctx, r.Firing)
		if err != nil {
			return Drift{}, err
		}
		before, err := c.reached(ctx, firing.Accepted)
		if err != nil {
			return Drift{}, err
		}
		if before == nil {
			return Drift{}, fault.New(fault.Transient, "what %s reached on val is not known any more", firing.Accepted)
		}
		drift := Drift{Drifted: isWorse(r.Result, *before)}
		if drift.Drifted {
			now, err := runs.ReadInventory(ctx, c.Bucket, firing.Basis.Inventory)
			if err == nil {
				err = checkGate(now, firing)
			}
			if err != nil {
				return drift, err
			}
		}
		drift.Why = fmt.Sprintf("%s solves %.1f %% of %d tasks of val; when it was made it was %.1f [%.1f, %.1f] %%",
			firing.Accepted, 100*r.Result.Rate, r.Result.Episodes, 100*before.Rate, 100*before.Low, 100*before.High)

		return drift, nil
	})
}

// isWorse reports whether a result is below the interval of an earlier one. A result without episodes shows nothing.
func isWorse(now, before runs.Result) bool { return now.Episodes > 0 && now.Rate < before.Low }

// Checked is the result of a check for drift.
type Checked struct {
	Firing FiringID
	Result runs.Result
}

// Drift reports whether the accepted system has become worse.
type Drift struct {
	Drifted bool
	Why     string
}
