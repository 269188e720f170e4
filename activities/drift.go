package activities

import (
	"context"
	"encoding/json"
	"fmt"

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

// PlanDrift returns what the accepted system plays to be checked: tasks of val that it knew. None means that it cannot
// be checked, because nobody knows how it did.
func (c *Control) PlanDrift(ctx context.Context, id FiringID) ([]rules.EvalItem, error) {
	return do(ctx, id.log(c), func(ctx context.Context, _ say) ([]rules.EvalItem, error) {
		f, v, err := c.firing(ctx, id)
		if err != nil {
			return nil, err
		}
		s, _, err := c.latest(ctx, f.Run, 0) // the run trains nothing yet
		if err != nil {
			return nil, err
		}
		suite, err := c.Suites.get(ctx, s.Where(s.Environment))
		if err != nil {
			return nil, err
		}
		if was, err := c.reached(ctx, f.Accepted); err != nil || was == nil {
			return nil, err
		}
		tasks := make([]domain.Task, v.Schedule.Drift.Episodes)
		for i := range tasks {
			if tasks[i], err = rules.EvalTask(s, suite, domain.SplitVal, i); err != nil {
				return nil, err
			}
		}
		accepted := rules.AllAgents(s, nameAccepted, f.Accepted.Digests())
		item, err := c.item(ctx, f, accepted, driftSplit, tasks)

		return []rules.EvalItem{item}, err
	})
}

// retrained returns the specification with which a firing's run has ended, and its suite.
func (c *Control) retrained(ctx context.Context, f schedules.Firing) (spec.Spec, envadapters.Suite, error) {
	s, err := c.spec(ctx, f.Run, atEnd)
	if err != nil {
		return s, nil, err
	}
	suite, err := c.Suites.get(ctx, s.Where(s.Environment))

	return s, suite, err
}

// reached returns what an accepted system reached on val when it was made, or nil if it was not evaluated. A base
// policy is only evaluated by a run that trains it further.
func (c *Control) reached(ctx context.Context, x lines.System) (*runs.Result, error) {
	s, err := runs.Run(x.Run).At(ctx, c.Bucket, x.Epoch)
	if err != nil {
		return nil, err
	}
	if x.Epoch == 0 {
		base := valResult(x.Run, 0, rules.ValName(s, 0))
		if _, evaluated, err := base.Sure(ctx, c.Bucket); err != nil || !evaluated {
			return nil, err
		}
	}

	return c.valOf(ctx, s, x.Epoch)
}

// Systems that a firing evaluates.
const (
	nameAccepted  = "accepted"
	nameRetrained = "retrained"
)

// gateFolder is the folder of a firing's evaluations, below those of its run.
const gateFolder = "gate"

// item returns an evaluation of given tasks, which it records under the firing's run: gc keeps what a record names.
func (c *Control) item(
	ctx context.Context, f schedules.Firing, system rules.EvalSystem, split string, tasks []domain.Task,
) (rules.EvalItem, error) {
	played, _, err := runs.Run(f.Run).Tasks(split).Record(ctx, c.Bucket, func() (runs.Tasks, error) {
		raw, err := json.Marshal(tasks)
		if err != nil {
			return runs.Tasks{}, fault.As(fault.Fatal, err)
		}
		ref, err := store.PutBlob(ctx, c.Bucket, raw)

		return runs.Tasks{Tasks: ref}, err
	})

	return rules.EvalItem{
		Run: f.Run, Folder: gateFolder, System: system, Split: split, Episodes: len(tasks),
		AtEnd: split != driftSplit, Tasks: played.Tasks.SHA256,
	}, err
}

// Drifted reports whether the accepted system fell below the interval of what it reached on val when it was made, and
// says what was seen.
func (c *Control) Drifted(ctx context.Context, r Checked) (Drift, error) {
	return do(ctx, r.Firing.log(c), func(ctx context.Context, _ say) (Drift, error) {
		f, _, err := c.firing(ctx, r.Firing)
		if err != nil {
			return Drift{}, err
		}
		was, err := c.reached(ctx, f.Accepted)
		if err != nil {
			return Drift{}, err
		}
		if was == nil {
			return Drift{}, fault.New(fault.Transient, "what %s reached on val is not known any more", f.Accepted)
		}
		d := Drift{Drifted: drifted(r.Result, *was)}
		if d.Drifted {
			now, err := runs.ReadInventory(ctx, c.Bucket, f.Basis.Inventory)
			if err == nil {
				err = checkGate(now, f)
			}
			if err != nil {
				return d, err
			}
		}
		d.Why = fmt.Sprintf("%s solves %.1f %% of %d tasks of val; when it was made it was %.1f [%.1f, %.1f] %%",
			f.Accepted, 100*r.Result.Rate, r.Result.Episodes, 100*was.Rate, 100*was.Low, 100*was.High)

		return d, nil
	})
}

// drifted reports whether a result is below the interval of what was before. One without episodes says nothing.
func drifted(now, was runs.Result) bool { return now.Episodes > 0 && now.Rate < was.Low }

// Checked is the result of a check for drift.
type Checked struct {
	Firing FiringID
	Result runs.Result
}

// Drift says whether the accepted system has become worse.
type Drift struct {
	Drifted bool
	Why     string
}
