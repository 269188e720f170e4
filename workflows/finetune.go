package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/store/runs"
)

// FineTuneInput is stage 1 of a run.
type FineTuneInput struct {
	Run  string
	Plan activities.Plan
}

// Evaluated by stage 1: one agent at temperature 0.2.
const fineTuneTemperature = 0.2

// FineTune gives the base policy. Without levels: expert demonstrations, then SFT in chunks until one agent's success on val reaches the band of the specification. With
// levels: for each level its data, then a stage of SFT, of level 3 also of DPO, each with its own checkpoint and evaluation on val. A base that the specification
// gives is where either begins.
func FineTune(ctx workflow.Context, in FineTuneInput) (runs.Policy, error) {
	var base runs.Policy
	p := Progress{Phase: "demonstrations", Slots: in.Plan.Demos}
	if err := workflow.SetQueryHandler(ctx, QueryProgress, func() (Progress, error) { return p, nil }); err != nil {
		return base, err
	}
	f := &fineTuning{in: in, p: &p, choice: activities.BaseChoice{Run: in.Run, Why: "max_chunks"}}
	if err := f.begin(ctx); err != nil {
		return base, err
	}
	for f.choice.Chunk < in.Plan.MaxChunks {
		f.choice.Chunk++
		if err := f.data(ctx); err != nil {
			return base, err
		}
		p = Progress{Phase: "SFT", Steps: p.Steps}
		name := fmt.Sprintf("SFT, chunk %d", f.choice.Chunk)
		if s := f.stage(); s.Level > 0 {
			p.Phase, name = s.Name(), s.Name()
		}
		var c runs.Chunk
		if err := workflow.ExecuteActivity(on(ctx, QueueGPU, name), gpu.TrainChunk, activities.ChunkID{Run: in.Run, Chunk: f.choice.Chunk}).Get(ctx, &c); err != nil {
			return base, err
		}
		rate, err := f.evaluate(ctx, c)
		if err != nil {
			return base, err
		}
		if len(in.Plan.Stages) == 0 && rate >= in.Plan.StopLow {
			f.choice.Why = "stop_low"
			break
		}
	}
	err := workflow.ExecuteActivity(on(ctx, QueueControl, "write base.json"), control.CommitBase, f.choice).Get(ctx, &base)
	return base, err
}

type fineTuning struct {
	in     FineTuneInput
	p      *Progress
	choice activities.BaseChoice
}

// stage is the one under way; without levels there is none.
func (f *fineTuning) stage() (s spec.LevelJob) {
	if len(f.in.Plan.Stages) > 0 {
		s = f.in.Plan.Stages[f.choice.Chunk-1]
	}
	return s
}

// begin plays the demonstrations, or takes the given policy; the levels begin with nothing.
func (f *fineTuning) begin(ctx workflow.Context) error {
	if f.in.Plan.Base != "" {
		f.choice.Why = "given"
		var c runs.Chunk
		if err := workflow.ExecuteActivity(on(ctx, QueueGPU, "take the given policy"), gpu.Adopt, f.in.Run).Get(ctx, &c); err != nil {
			return err
		}
		_, err := f.evaluate(ctx, c)
		return err
	}
	if len(f.in.Plan.Stages) > 0 {
		f.choice.Why = "levels"
		return nil
	}
	return batches(ctx, f.in.Plan.Demos, activities.DemoBatch, f.p, func(ctx workflow.Context, from, to int) workflow.Future {
		return workflow.ExecuteActivity(on(ctx, QueueRollout, fmt.Sprintf("demonstrations %d to %d", from, to-1)), rollout.Demonstrate, activities.Batch{Run: f.in.Run, From: from, To: to})
	})
}

// data makes the data set of a level before its first stage.
func (f *fineTuning) data(ctx workflow.Context) error {
	s := f.stage()
	if s.Level == 0 || f.choice.Chunk > 1 && f.in.Plan.Stages[f.choice.Chunk-2].Level == s.Level {
		return nil
	}
	id := activities.LevelID{Run: f.in.Run, Level: s.Level, Chunk: f.choice.Chunk}
	name := fmt.Sprintf("%s/finetune/level-%d", f.in.Run, s.Level)
	*f.p = Progress{Phase: fmt.Sprintf("data of level %d", s.Level), Steps: f.p.Steps, Child: name}
	return workflow.ExecuteChildWorkflow(child(ctx, name, fmt.Sprintf("data of level %d", s.Level)), Synthesis, SynthesisInput{ID: id, Plan: f.in.Plan}).Get(ctx, nil)
}

// evaluate plays one agent on val and notes the point of the curve.
func (f *fineTuning) evaluate(ctx workflow.Context, c runs.Chunk) (float64, error) {
	item := rules.EvalItem{Run: f.in.Run, Folder: rules.EpochFolder(0), Split: domain.SplitVal, Episodes: f.in.Plan.Val, System: rules.EvalSystem{
		Name: fmt.Sprintf("chunk-%04d", f.choice.Chunk), Policies: []string{c.Policy.Digest}, Rounds: 1, Temperature: []float64{fineTuneTemperature}, TopP: f.in.Plan.TopP}}
	*f.p = Progress{Phase: "evaluation", Slots: item.Episodes, Steps: c.Steps}
	res, err := evaluate(ctx, item, f.p)
	if err != nil {
		return 0, err
	}
	f.choice.Curve = append(f.choice.Curve, runs.EvalPoint{At: c.Steps, Rate: res.Rate})
	details := fmt.Sprintf("%d optimiser steps, one agent on val %.1f %%", c.Steps, 100*res.Rate)
	if len(f.in.Plan.Stages) == 0 {
		details += fmt.Sprintf(" (stops at %.0f %%)", 100*f.in.Plan.StopLow)
	}
	workflow.SetCurrentDetails(ctx, details)
	return res.Rate, nil
}

// batches runs an activity over 0..n-1 in batches, all at once, and counts them in p.
func batches(ctx workflow.Context, n, size int, p *Progress, run func(ctx workflow.Context, from, to int) workflow.Future) error {
	wg := workflow.NewWaitGroup(ctx)
	var first error
	for from := 0; from < n; from += size {
		to := min(from+size, n)
		f := run(ctx, from, to)
		wg.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer wg.Done()
			if err := f.Get(ctx, nil); err != nil && first == nil {
				first = err
			}
			p.Done += to - from
		})
	}
	wg.Wait(ctx)
	return first
}

// SynthesisInput is the data set of one level of a run.
type SynthesisInput struct {
	ID   activities.LevelID
	Plan activities.Plan
}

// Synthesis makes the data set of a level (METHOD.md section 3): the UI agent explores training tasks, once for all levels; screens are drawn; items are written about
// them, or pairs made along them; the data set is assembled with its card. A data set of one's own is only checked.
func Synthesis(ctx workflow.Context, in SynthesisInput) (synth.Card, error) {
	var card synth.Card
	p := Progress{Phase: "exploration", Slots: in.Plan.Demos}
	if err := workflow.SetQueryHandler(ctx, QueryProgress, func() (Progress, error) { return p, nil }); err != nil {
		return card, err
	}
	run, level := in.ID.Run, in.ID.Level
	if !in.Plan.Imported[level-1] {
		if err := batches(ctx, in.Plan.Demos, activities.DemoBatch, &p, func(ctx workflow.Context, from, to int) workflow.Future {
			return workflow.ExecuteActivity(on(ctx, QueueRollout, fmt.Sprintf("trajectories %d to %d", from, to-1)), rollout.Explore, activities.Batch{Run: run, From: from, To: to})
		}); err != nil {
			return card, err
		}
		if err := workflow.ExecuteActivity(long(on(ctx, QueueControl, "draw the screens")), control.PlanLevel, in.ID).Get(ctx, nil); err != nil {
			return card, err
		}
		p = Progress{Phase: "synthesis", Slots: in.Plan.Demos}
		if err := batches(ctx, in.Plan.Demos, activities.SynthesisBatch, &p, func(ctx workflow.Context, from, to int) workflow.Future {
			return workflow.ExecuteActivity(on(ctx, QueueModel, fmt.Sprintf("level %d, trajectories %d to %d", level, from, to-1)), models.Synthesize, activities.LevelRange{LevelID: in.ID, From: from, To: to})
		}); err != nil {
			return card, err
		}
	}
	err := workflow.ExecuteActivity(long(on(ctx, QueueControl, "assemble the data set")), control.Assemble, in.ID).Get(ctx, &card)
	if err == nil {
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d rows", card.Rows))
	}
	return card, err
}
