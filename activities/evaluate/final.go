package evaluate

import (
	"context"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/epoch"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// Control chooses what is evaluated and records the results.
type Control struct {
	activities.Common
	Suites *play.Suites
}

// SystemsID names the systems of an epoch; epoch 0 has the base systems.
type SystemsID struct {
	Run   string
	Epoch int
	AtEnd bool `json:",omitempty"` // as they decide at the end of the run
}

// Systems returns what can be evaluated at an epoch: see rules.EvalSystems.
func (c *Control) Systems(ctx context.Context, id SystemsID) ([]rules.EvalSystem, error) {
	log := c.Log.For(id.Run, "epoch", id.Epoch)

	return activities.Do(ctx, log, func(ctx context.Context, _ activities.Progress) ([]rules.EvalSystem, error) {
		return c.systems(ctx, id)
	})
}

func (c *Control) systems(ctx context.Context, id SystemsID) ([]rules.EvalSystem, error) {
	epoch := id.Epoch
	if id.AtEnd {
		epoch = activities.AtEnd
	}
	specification, err := c.Runs.Spec(ctx, id.Run, epoch)
	if err != nil {
		return nil, err
	}
	system, err := runs.Run(id.Run).System(ctx, c.Bucket, id.Epoch, specification.Agents)
	if err != nil {
		return nil, err
	}

	return rules.EvalSystems(specification, id.Epoch, system.Digests()), nil
}

// Final is what the last evaluation of a run plays.
type Final struct {
	Best   int // the committed epoch that is the best on val
	Splits []rules.Split
	Base1  string // the decoding of one base agent that was better on val

	// WithoutBase leaves out the base systems: the specification wants that, or another run played them.
	WithoutBase bool `json:",omitempty"`

	// LacksBase reports that results of the base on val are missing, so that nothing else is planned: the store was set
	// back to a state from before they were recorded.
	LacksBase bool `json:",omitempty"`

	References []rules.EvalItem `json:",omitempty"` // systems without policies, on splits of recorded tasks
}

// PlanFinal reads results on val only: a test split is read once, for the best system. It records the last epoch, which
// the workflow names, for all that follows.
func (c *Control) PlanFinal(ctx context.Context, id activities.EpochID) (Final, error) {
	return activities.Do(ctx, c.Log.For(id.Run), func(ctx context.Context, _ activities.Progress) (Final, error) {
		_, more, err := runs.Run(id.Run).Epoch(id.Epoch+1).Sure(ctx, c.Bucket)
		if err != nil {
			return Final{}, err
		}
		if more {
			return Final{}, fault.New(fault.Transient, "run %s has committed epoch %d, which the plan of its end did "+
				"not know: it is planned again", id.Run, id.Epoch+1)
		}
		end := activities.EpochID{Run: id.Run, Epoch: activities.AtEnd, Changes: id.Changes}
		specification, err := epoch.Begin(ctx, c.Common, c.Suites, end, id.Epoch)
		if err != nil {
			return Final{}, err
		}

		return c.final(ctx, specification)
	})
}

func (c *Control) final(ctx context.Context, specification spec.Spec) (Final, error) {
	final := Final{Base1: rules.NameBaseWarm, WithoutBase: !specification.Evaluation.Base}
	suite, err := c.Suites.Get(ctx, specification.Where(specification.Environment))
	if err != nil {
		return final, err
	}
	tests, err := TestSplits(specification, suite)
	if err != nil {
		return final, err
	}
	final.Splits, final.References, err = AddOtherSplits(ctx, c.Common, c.Suites, specification, tests)
	if err != nil {
		return final, err
	}

	greedy, hasGreedy, err := epoch.ValResult(specification.Name, 0, rules.NameBaseGreedy).Sure(ctx, c.Bucket)
	if err != nil {
		return final, err
	}
	warm, hasWarm, err := epoch.ValResult(specification.Name, 0, rules.NameBaseWarm).Sure(ctx, c.Bucket)
	if err != nil {
		return final, err
	}
	if !hasGreedy || !hasWarm {
		final.LacksBase = true

		return final, nil
	}
	if greedy.Rate >= warm.Rate {
		final.Base1 = rules.NameBaseGreedy
	}
	final.Best, err = c.best(ctx, specification)

	return final, err
}

// best returns the committed epoch with the highest rate on val, and of equal ones the earliest. Epochs that were not
// evaluated, or on other episodes, or whose system was not switched to, do not count. It returns 0 if no epoch counts.
func (c *Control) best(ctx context.Context, specification spec.Spec) (int, error) {
	end, err := c.Runs.Beginning(ctx, specification.Name, activities.AtEnd)
	if err != nil {
		return 0, err
	}

	shared, past, err := c.Runs.Past(ctx, specification.Name)
	if err != nil {
		return 0, err
	}
	best := 0
	top := -1.0 // its rate
	for _, pastEpoch := range past {
		if pastEpoch.Rate > top && !pastEpoch.Kept && pastEpoch.Val == rules.ValOf(specification) {
			best = pastEpoch.Epoch
			top = pastEpoch.Rate
		}
	}
	for epoch := shared + 1; epoch <= end.Epoch; epoch++ {
		e, _, err := runs.Run(specification.Name).Epoch(epoch).Must(ctx, c.Bucket)
		if err != nil {
			return 0, err
		}
		if e.Val == nil || e.Kept != "" || e.Val.Rate <= top {
			continue
		}
		then, err := c.Runs.Spec(ctx, specification.Name, epoch)
		if err != nil {
			return 0, err
		}
		if rules.SameVal(specification, then) {
			best = epoch
			top = e.Val.Rate
		}
	}

	return best, nil
}
