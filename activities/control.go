package activities

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// Control plans, commits and concludes. Its activities read and write the store. They open the environments of a run to
// read their lists of tasks, so a control worker needs the data of recorded environments.
type Control struct {
	Common
	Suites  *Suites
	Notices Notices
	View    string // address of the viewer, for people
}

// Plan says where a run continues. It is read from the store alone.
type Plan struct {
	Environment string
	Agents      int
	Epochs      int
	Slots       int
	Committed   int  // the newest committed epoch
	HasBase     bool // stage 1 has ended
	Ended       bool
	EvalEvery   int
	MaxChunks   int
	Demos       int
	Val         int
	FailedShare float64
	TopP        float64
	StopLow     float64
	Window      int  `json:",omitempty"` // episodes of a shard that are open concurrently; 0: the default
	Shared      bool // all agents share their parameters
	Base        string
	Stages      []spec.LevelJob // level jobs of stage 1; none without levels
	Imported    [3]bool         // levels whose data are imported

	Changes int `json:",omitempty"` // how many changes by people there are at least, which the workflow fills in

	// For people, on the page of the run.
	Stage1 string         `json:",omitempty"` // what stage 1 made
	View   string         `json:",omitempty"` // address of the viewer
	Past   []EpochSummary `json:",omitempty"` // the newest committed epochs, at most PastEpochs

	// Asked is the newest pause, resume or stop that is recorded, if there is any.
	Asked *runs.Change `json:",omitempty"`
}

// RunID names a run and contains what its workflow knows of it.
type RunID struct {
	Run     string
	Changes int `json:",omitempty"` // how many changes by people there are at least

	Asked time.Time // when it was last asked to begin, to pause, to continue or to stop
}

// PlanRun returns where to begin. A run whose Temporal data is lost continues from its newest commit. The changes by
// people until now count in the epoch that begins.
func (c *Control) PlanRun(ctx context.Context, id RunID) (Plan, error) {
	return do(ctx, c.log(id.Run), func(ctx context.Context, _ say) (Plan, error) {
		run := id.Run
		if deleted, gone, err := runs.Run(run).Deleted().Sure(ctx, c.Bucket); err != nil {
			return Plan{}, err
		} else if gone {
			return Plan{}, runs.Run(run).Gone(deleted)
		}
		s, _, err := c.latest(ctx, run, id.Changes)
		if err != nil {
			return Plan{}, err
		}
		hasBase, err := runs.Run(run).Base().Exists(ctx, c.Bucket)
		if err != nil {
			return Plan{}, err
		}
		ended, err := runs.Run(run).End().Exists(ctx, c.Bucket)
		if err != nil {
			return Plan{}, err
		}
		if !ended {
			if err := c.playable(ctx, s); err != nil {
				return Plan{}, err
			}
			if _, err := c.begin(ctx, EpochID{Run: run}, 0); err != nil {
				return Plan{}, err
			}
		}
		committed, err := runs.Run(run).Committed(ctx, c.Bucket)
		if err != nil {
			return Plan{}, err
		}
		if hasBase && !ended && committed < s.Epochs {
			s, err = c.begin(ctx, EpochID{Run: run, Epoch: committed + 1, Changes: id.Changes}, 0)
		}

		p := planOf(s)
		p.HasBase, p.Ended, p.Committed = hasBase, ended, committed
		if err == nil {
			p.Asked, err = c.asked(ctx, id)
		}
		if err == nil {
			err = c.tellPast(ctx, runs.Run(run), &p)
		}

		return p, err
	})
}

// planOf returns the part of a plan that the specification fixes.
func planOf(s spec.Spec) Plan {
	p := Plan{
		Environment: s.Environment, Agents: s.Agents, Epochs: s.Epochs, Slots: s.Slots,
		EvalEvery: s.Evaluation.Every, Val: s.Evaluation.Val,
		MaxChunks: s.FineTune.MaxChunks, Demos: s.FineTune.Demonstrations,
		StopLow: s.FineTune.StopLow, Base: s.FineTune.Base,
		Window:      s.Window,
		FailedShare: s.FailedShare, TopP: s.Decoding.TopP, Shared: s.Parameters == spec.ParametersShared,
	}
	if len(s.FineTune.Levels) > 0 || p.Base != "" {
		p.Stages = s.FineTune.LevelJobs()
		p.MaxChunks = len(p.Stages)
	}
	for i := range p.Imported {
		p.Imported[i] = s.FineTune.Data.Of(i+1) != ""
	}

	return p
}

// playable reports early what would otherwise end a run after days: an environment that cannot be opened here, or that
// lacks a split of the run.
func (c *Control) playable(ctx context.Context, s spec.Spec) error {
	suite, err := c.Suites.get(ctx, s.Where(s.Environment))
	if err != nil {
		return err
	}

	if err := quarantined(s, suite); err != nil {
		return err
	}
	tests, err := testSplits(s, suite)
	if err != nil {
		return err
	}
	needed := append([]rules.Split{
		{Name: domain.SplitTrain, Episodes: 1},
		{Name: domain.SplitVal, Episodes: s.Evaluation.Val},
	}, tests...)
	for _, split := range needed {
		if split.Episodes == 0 {
			continue
		}
		templates, err := suite.Templates(split.Name)
		if err == nil && len(templates) == 0 {
			err = errors.New("it lists no tasks for it")
		}
		if err != nil {
			return fault.New(fault.Invalid,
				"environment %s cannot play split %s (it has %s); evaluation.test_seeds, "+
					"evaluation.test_templates and evaluation.test_apps may be 0: %w",
				s.Environment, split.Name, strings.Join(suite.Splits(), ", "), err)
		}
	}
	_, _, err = c.elsewhere(ctx, s, nil)

	return err
}

// quarantined reports a name in quarantine that is no training template.
func quarantined(s spec.Spec, suite envadapters.Suite) error {
	if len(s.Quarantine) == 0 {
		return nil
	}
	templates, err := suite.Templates(domain.SplitTrain)
	if err != nil {
		return err
	}
	for _, name := range s.Quarantine {
		if !slices.ContainsFunc(templates, func(t envadapters.Template) bool { return t.Name == name }) {
			return fault.New(fault.Invalid, "quarantine: environment %s has no training template %q: "+
				"name others in the specification or, if the run has begun, with "+
				"`collabui set %s 'quarantine=[…]'`, and resume it", s.Environment, name, s.Name)
		}
	}

	return nil
}

// SetID asks for a change of a run's values by a person.
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
	return do(ctx, c.log(id.Run), func(ctx context.Context, _ say) (r Recorded, err error) {
		r.Change, r.Number, err = runs.Run(id.Run).Set(ctx, c.Bucket, id.Change, id.Typed, spec.Source{}, c.Catalog)

		return r, err
	})
}

// DoneID is what a person did to a run.
type DoneID struct {
	Run    string
	Change runs.Change
}

// Note records what a person did to a run, and returns the number of the change.
func (c *Control) Note(ctx context.Context, id DoneID) (int, error) {
	return do(ctx, c.log(id.Run), func(ctx context.Context, _ say) (int, error) {
		return runs.Run(id.Run).Append(ctx, c.Bucket, id.Change)
	})
}
