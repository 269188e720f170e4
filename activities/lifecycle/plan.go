// Package lifecycle has the activities of a run as a whole: where it continues, what people change, and whom to notify.
package lifecycle

import (
	"context"
	"fmt"
	"time"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/epoch"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// Plan contains where a run continues. It is read from the store alone.
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
	Window      int  `json:",omitempty"` // episodes of a shard that are open concurrently; 0 means the default
	Shared      bool // all agents share their parameters
	Base        string
	Stages      []spec.LevelJob // level jobs of stage 1; empty without levels
	Imported    [3]bool         // levels whose data are imported

	// Tuned is the system whose rate on val ends stage 1, without policies: all agents if each sees only a part of the
	// screen, and otherwise none, which means one agent.
	Tuned *rules.EvalSystem `json:",omitempty"`
	// Speech makes demonstrations for every chunk, in which agents hear the policy of the chunk before.
	Speech bool `json:",omitempty"`

	// Changes is the number of changes by people that exist at least. The workflow sets it.
	Changes int `json:",omitempty"`

	// For people, on the page of the run.
	Stage1 string          `json:",omitempty"` // what stage 1 made
	View   string          `json:",omitempty"` // address of the viewer
	Past   []epoch.Summary `json:",omitempty"` // the newest committed epochs, at most PastEpochs

	// Asked is the newest pause, resume or stop that is recorded, if there is any.
	Asked *runs.Change `json:",omitempty"`
}

// RunID names a run and contains what its workflow knows of it.
type RunID struct {
	Run     string
	Changes int `json:",omitempty"` // the number of changes by people that exist at least

	Asked time.Time // when the run was started, paused, continued or stopped last
}

// PlanRun returns where to begin. A run whose Temporal data is lost continues from its newest commit. The changes by
// people until now count in the epoch that begins.
func (c *Control) PlanRun(ctx context.Context, id RunID) (Plan, error) {
	return activities.Do(ctx, c.Log.For(id.Run), func(ctx context.Context, _ activities.Progress) (Plan, error) {
		return c.planRun(ctx, id)
	})
}

func (c *Control) planRun(ctx context.Context, id RunID) (Plan, error) {
	run := runs.Run(id.Run)
	deleted, gone, err := run.Deleted().Sure(ctx, c.Bucket)
	if err != nil {
		return Plan{}, err
	}
	if gone {
		return Plan{}, run.Gone(deleted)
	}
	specification, _, err := c.Runs.Latest(ctx, id.Run, id.Changes)
	if err != nil {
		return Plan{}, err
	}
	hasBase, err := run.Base().Exists(ctx, c.Bucket)
	if err != nil {
		return Plan{}, err
	}
	ended, err := run.End().Exists(ctx, c.Bucket)
	if err != nil {
		return Plan{}, err
	}
	if !ended {
		if err := CheckPlayable(ctx, c.Common, c.Suites, specification); err != nil {
			return Plan{}, err
		}
		if _, err := epoch.Begin(ctx, c.Common, c.Suites, activities.EpochID{Run: id.Run}, 0); err != nil {
			return Plan{}, err
		}
	}
	committed, err := run.Committed(ctx, c.Bucket)
	if err != nil {
		return Plan{}, err
	}
	if hasBase && !ended && committed < specification.Epochs {
		next := activities.EpochID{Run: id.Run, Epoch: committed + 1, Changes: id.Changes}
		specification, err = epoch.Begin(ctx, c.Common, c.Suites, next, 0)
	}

	plan := planOf(specification)
	plan.HasBase = hasBase
	plan.Ended = ended
	plan.Committed = committed
	if err == nil {
		plan.Asked, err = c.Runs.Order(ctx, id.Run, id.Asked)
	}
	if err == nil {
		err = c.describePast(ctx, run, &plan)
	}

	return plan, err
}

// planOf returns the part of a plan that the specification fixes.
func planOf(given spec.Spec) Plan {
	plan := Plan{
		Environment: given.Environment, Agents: given.Agents, Epochs: given.Epochs, Slots: given.Slots,
		EvalEvery: given.Evaluation.Every, Val: given.Evaluation.Val,
		MaxChunks: given.FineTune.MaxChunks, Demos: given.FineTune.Demonstrations,
		StopLow: given.FineTune.StopLow, Base: given.FineTune.Base,
		Window:      given.Window,
		FailedShare: given.FailedShare, TopP: given.Decoding.TopP, Shared: given.Parameters == spec.ParametersShared,
	}
	if len(given.FineTune.Levels) > 0 || plan.Base != "" {
		plan.Stages = given.FineTune.LevelJobs()
		plan.MaxChunks = len(plan.Stages)
	}
	if given.Views.Divided() && given.Agents > 1 {
		system := rules.AllAgents(given, "", nil)
		plan.Tuned = &system
	}
	plan.Speech = given.Speech && len(plan.Stages) == 0
	for i := range plan.Imported {
		plan.Imported[i] = given.FineTune.Data.Of(i+1) != ""
	}

	return plan
}

// describePast reads what the page of a run shows of its past.
func (c *Control) describePast(ctx context.Context, run runs.Run, plan *Plan) error {
	plan.View = c.View
	base, there, err := run.Base().May(ctx, c.Bucket)
	if err != nil || !there {
		return err
	}
	if n := len(base.Curve); n > 0 {
		plan.Stage1 = fmt.Sprintf("%d optimiser steps, one agent %.1f %% on val (%s)", base.Curve[n-1].At,
			100*base.Curve[n-1].Rate, base.StoppedBy)
	}
	for n := max(1, plan.Committed-epoch.PastEpochs+1); n <= plan.Committed; n++ {
		e, _, err := run.Epoch(n).Must(ctx, c.Bucket)
		if err != nil {
			return err
		}
		plan.Past = append(plan.Past, epoch.SummaryOf(e))
	}

	return nil
}
