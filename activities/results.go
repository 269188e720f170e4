package activities

import (
	"context"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// SystemsID asks for the systems of an epoch; 0 is the base.
type SystemsID struct {
	Run   string
	Epoch int
	AtEnd bool `json:",omitempty"` // as they decide at the end of the run
}

// Systems returns what can be evaluated at an epoch: see rules.EvalSystems.
func (c *Control) Systems(ctx context.Context, id SystemsID) ([]rules.EvalSystem, error) {
	return do(ctx, c.log(id.Run, "epoch", id.Epoch), func(ctx context.Context, _ say) ([]rules.EvalSystem, error) {
		return c.systems(ctx, id)
	})
}

func (c *Control) systems(ctx context.Context, id SystemsID) ([]rules.EvalSystem, error) {
	epoch := id.Epoch
	if id.AtEnd {
		epoch = atEnd
	}
	s, err := c.spec(ctx, id.Run, epoch)
	if err != nil {
		return nil, err
	}
	system, err := runs.Run(id.Run).System(ctx, c.Bucket, id.Epoch, s.Agents)
	if err != nil {
		return nil, err
	}

	return rules.EvalSystems(s, id.Epoch, system.Digests()), nil
}

// Final says what the last evaluation of a run plays.
type Final struct {
	Best   int // see best
	Splits []rules.Split
	Base1  string // the decoding of one base agent that was better on val

	// WithoutBase leaves out the base systems; the specification says so, or another run played them.
	WithoutBase bool `json:",omitempty"`

	// LacksBase reports that results of the base on val are missing, so that nothing else is planned: the store was set
	// back to a state from before they were recorded.
	LacksBase bool `json:",omitempty"`

	References []rules.EvalItem `json:",omitempty"` // systems without policies, on splits of recorded tasks
}

// PlanFinal reads results on val only: a test split is read once, for the best system. It records the last epoch, which
// the workflow names, for all that follows.
func (c *Control) PlanFinal(ctx context.Context, id EpochID) (Final, error) {
	return do(ctx, c.log(id.Run), func(ctx context.Context, _ say) (Final, error) {
		if _, more, err := runs.Run(id.Run).Epoch(id.Epoch+1).Sure(ctx, c.Bucket); err != nil {
			return Final{}, err
		} else if more {
			return Final{}, fault.New(fault.Transient, "run %s has committed epoch %d, which the plan of its end did "+
				"not know: it is planned again", id.Run, id.Epoch+1)
		}
		s, err := c.begin(ctx, EpochID{Run: id.Run, Epoch: atEnd, Changes: id.Changes}, id.Epoch)
		if err != nil {
			return Final{}, err
		}

		return c.final(ctx, s)
	})
}

func (c *Control) final(ctx context.Context, s spec.Spec) (Final, error) {
	f := Final{Base1: rules.NameBaseWarm, WithoutBase: !s.Evaluation.Base}
	suite, err := c.Suites.get(ctx, s.Where(s.Environment))
	if err != nil {
		return f, err
	}
	tests, err := testSplits(s, suite)
	if err != nil {
		return f, err
	}
	if f.Splits, f.References, err = c.elsewhere(ctx, s, tests); err != nil {
		return f, err
	}

	greedy, hasGreedy, err := valResult(s.Name, 0, rules.NameBaseGreedy).Sure(ctx, c.Bucket)
	if err != nil {
		return f, err
	}
	warm, hasWarm, err := valResult(s.Name, 0, rules.NameBaseWarm).Sure(ctx, c.Bucket)
	if err != nil {
		return f, err
	}
	if !hasGreedy || !hasWarm {
		f.LacksBase = true

		return f, nil
	}
	if greedy.Rate >= warm.Rate {
		f.Base1 = rules.NameBaseGreedy
	}

	f.Best, err = c.best(ctx, s)

	return f, err
}

// best returns the committed epoch with the highest rate on val, ties to the earlier. Epochs that were not evaluated,
// or on other episodes, or whose system was not switched to, do not count; 0 means that none does.
func (c *Control) best(ctx context.Context, s spec.Spec) (int, error) {
	end, err := c.begun(ctx, s.Name, atEnd)
	if err != nil {
		return 0, err
	}

	shared, past, err := c.past(ctx, s.Name)
	if err != nil {
		return 0, err
	}
	top, best := -1.0, 0
	for _, p := range past {
		if p.Rate > top && !p.Kept && p.Val == rules.ValOf(s) {
			top, best = p.Rate, p.Epoch
		}
	}
	for epoch := shared + 1; epoch <= end.Epoch; epoch++ {
		e, _, err := runs.Run(s.Name).Epoch(epoch).Must(ctx, c.Bucket)
		if err != nil {
			return 0, err
		}
		if e.Val == nil || e.Kept != "" || e.Val.Rate <= top {
			continue
		}
		then, err := c.spec(ctx, s.Name, epoch)
		if err != nil {
			return 0, err
		}
		if rules.SameVal(s, then) {
			top, best = e.Val.Rate, epoch
		}
	}

	return best, nil
}

// past returns the last epoch that a run shares with others as a whole, or 0, and what these epochs reached on val.
func (c *Control) past(ctx context.Context, run string) (int, runs.Past, error) {
	v, err := c.versions(ctx, run)
	if err != nil || v.shared == nil {
		return 0, nil, err
	}
	past, _, err := runs.Run(run).Past().Must(ctx, c.Bucket)

	return v.shared.Last(), past, err
}

// testSplits returns the test splits of the run's own environment. It fails if the environment cannot say which splits
// it has.
func testSplits(s spec.Spec, suite envadapters.Suite) ([]rules.Split, error) {
	splits := []rules.Split{
		{Name: domain.SplitTestSeeds, Episodes: s.Evaluation.TestSeeds},
		{Name: domain.SplitTestTemplates, Episodes: s.Evaluation.TestTemplates},
	}
	apps, err := hasApps(suite)
	if apps {
		splits = append(splits, rules.Split{Name: domain.SplitTestApps, Episodes: s.Evaluation.TestApps})
	}

	return splits, err
}

// hasApps reports whether a suite has the split test-apps. A suite far away that does not answer has no splits, so the
// templates of train are read first.
func hasApps(suite envadapters.Suite) (bool, error) {
	if _, err := suite.Templates(domain.SplitTrain); err != nil {
		return false, err
	}

	return slices.Contains(suite.Splits(), domain.SplitTestApps), nil
}

// elsewhere appends the splits out of distribution, and returns the references for all splits of recorded tasks.
func (c *Control) elsewhere(
	ctx context.Context, s spec.Spec, splits []rules.Split,
) ([]rules.Split, []rules.EvalItem, error) {
	var references []rules.EvalItem
	refer := func(p rules.Split) {
		if p.Episodes > 0 {
			references = append(references, p.Item(s.Name, rules.ReferenceFolder, rules.References()[0]))
		}
	}

	if s.Recorded(c.Catalog, s.Environment) {
		refer(rules.Split{Name: domain.SplitVal, Episodes: s.Evaluation.Val})
		for _, p := range splits {
			refer(p)
		}
	}
	for _, x := range s.Evaluation.OutOfDistribution {
		p := rules.Split{
			Name: x.Split, Episodes: x.Episodes, Environment: x.Environment, Options: s.Where(x.Environment),
		}
		suite, err := c.Suites.get(ctx, p.Options)
		if err != nil {
			return nil, nil, err
		}
		templates, err := suite.Templates(x.Split)
		if err != nil {
			return nil, nil, err
		}
		if p.Episodes == 0 {
			p.Episodes = len(templates)
		}
		splits = append(splits, p)
		if envadapters.ProtocolOf(suite) != "" {
			refer(p)
		}
	}

	return splits, references, nil
}

// valResult is a system's result on val.
func valResult(run string, epoch int, system string) runs.Object[runs.Result] {
	return runs.Run(run).Result(rules.EvalID(rules.EpochFolder(epoch), system, domain.SplitVal))
}

// valOf returns what the system of a committed epoch reached on val, or nil if it was not evaluated: its commit says
// so. The base policy is 0; a run that has begun its first epoch has evaluated it.
func (c *Control) valOf(ctx context.Context, s spec.Spec, epoch int) (*runs.Result, error) {
	if epoch > 0 {
		e, _, err := runs.Run(s.Name).Epoch(epoch).Must(ctx, c.Bucket)

		return e.Val, err
	}
	v, _, err := valResult(s.Name, 0, rules.ValName(s, 0)).Must(ctx, c.Bucket)

	return &v, err
}
