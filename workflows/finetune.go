package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities/lifecycle"
	"github.com/collabui/collabui/activities/stage1"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// FineTuneInput is stage 1 of a run.
type FineTuneInput struct {
	Run  string
	Plan lifecycle.Plan
}

// fineTuneTemperature is the temperature of the one agent that is evaluated during stage 1.
const fineTuneTemperature = 0.2

// FineTune makes the base policy. Without levels, it trains on expert demonstrations by SFT, in chunks, until one
// agent's success on val reaches the band of the specification. With levels, it makes the data of each level, then does
// its level jobs: SFT and, for level 3, DPO, each with its own checkpoint and evaluation on val. Both begin with the
// base that the specification names, if it names one.
func FineTune(ctx workflow.Context, in FineTuneInput) (runs.Policy, error) {
	var base runs.Policy
	progress := Progress{Phase: PhaseDemonstrations, Slots: in.Plan.Demos, Since: workflow.Now(ctx)}
	if err := answerProgress(ctx, &progress); err != nil {
		return base, err
	}

	tuning := &fineTuning{
		in: in, p: &progress, choice: stage1.BaseChoice{Run: in.Run, Why: "max_chunks"},
		window: window{size: maxOpenBatches, progress: &progress},
	}
	tuning.window.pass = tuning.signal
	tuning.window.listen(ctx)
	if err := tuning.begin(ctx); err != nil {
		return base, err
	}
	for tuning.choice.Chunk < in.Plan.MaxChunks {
		tuning.choice.Chunk++
		rate, err := tuning.chunk(ctx)
		if err != nil {
			return base, err
		}
		if len(in.Plan.Stages) == 0 && rate >= in.Plan.StopLow {
			tuning.choice.Why = "stop_low"
			break
		}
	}

	commit := on(ctx, QueueControl, "write base.json")
	err := workflow.ExecuteActivity(commit, control.CommitBase, tuning.choice).Get(ctx, &base)

	return base, err
}

// fineTuning is the state of stage 1.
type fineTuning struct {
	in     FineTuneInput
	p      *Progress
	choice stage1.BaseChoice
	window window
	policy string                       // of the chunk before
	child  workflow.ChildWorkflowFuture // while it is open
}

// signal sends a signal to the open child. One that has just ended needs none.
func (f *fineTuning) signal(ctx workflow.Context, name string, value any) {
	if f.child != nil {
		_ = f.child.SignalChildWorkflow(ctx, name, value).Get(ctx, nil)
	}
}

// job returns the level job of the current chunk; it is empty without levels.
func (f *fineTuning) job() (job spec.LevelJob) {
	if len(f.in.Plan.Stages) > 0 {
		job = f.in.Plan.Stages[f.choice.Chunk-1]
	}

	return job
}

// begin plays the demonstrations, or adopts the given policy. With levels there is nothing to begin with.
func (f *fineTuning) begin(ctx workflow.Context) error {
	if f.in.Plan.Base != "" {
		f.choice.Why = "given"
		var chunk runs.Chunk
		adopt := on(ctx, QueueGPU, "adopt the given policy")
		if err := workflow.ExecuteActivity(adopt, gpu.Adopt, f.in.Run).Get(ctx, &chunk); err != nil {
			return err
		}
		_, err := f.evaluate(ctx, chunk)

		return err
	}
	if len(f.in.Plan.Stages) > 0 {
		f.choice.Why = "levels"

		return nil
	}

	if f.in.Plan.Speech {
		return nil
	}

	return f.demonstrate(ctx, 0)
}

// demonstrate plays the demonstrations from number first on.
func (f *fineTuning) demonstrate(ctx workflow.Context, first int) error {
	play := func(ctx workflow.Context, from, to int) error {
		from += first
		to += first
		dctx := on(ctx, QueueRollout, fmt.Sprintf("demonstrations %d to %d", from, to-1))
		batch := stage1.Batch{Run: f.in.Run, From: from, To: to, Policy: f.policy}

		return workflow.ExecuteActivity(dctx, rollouts.Demonstrate, batch).Get(ctx, nil)
	}

	return batches(ctx, &f.window, f.in.Plan.Demos, stage1.DemoBatch, f.p, play)
}

// chunk trains and evaluates one chunk. It returns the success rate of one agent on val, 0 to 1.
func (f *fineTuning) chunk(ctx workflow.Context) (float64, error) {
	if err := f.data(ctx); err != nil {
		return 0, err
	}
	if err := f.window.free(ctx); err != nil {
		return 0, err
	}

	*f.p = Progress{Phase: PhaseSFT, Steps: f.p.Steps, Since: workflow.Now(ctx)}
	name := fmt.Sprintf("SFT, chunk %d", f.choice.Chunk)
	if job := f.job(); job.Level > 0 {
		name = job.Name()
		f.p.Phase = name
	}
	var chunk runs.Chunk
	id := stage1.ChunkID{Run: f.in.Run, Chunk: f.choice.Chunk}
	if err := workflow.ExecuteActivity(on(ctx, QueueGPU, name), gpu.TrainChunk, id).Get(ctx, &chunk); err != nil {
		return 0, err
	}

	f.policy = chunk.Policy.Digest

	return f.evaluate(ctx, chunk)
}

// data makes the data set of a level before its first job, and the demonstrations of every chunk with speech.
func (f *fineTuning) data(ctx workflow.Context) error {
	if f.in.Plan.Speech {
		*f.p = Progress{
			Phase: PhaseDemonstrations, Slots: f.in.Plan.Demos, Steps: f.p.Steps, Since: workflow.Now(ctx),
		}

		return f.demonstrate(ctx, (f.choice.Chunk-1)*f.in.Plan.Demos)
	}
	job := f.job()
	if job.Level == 0 || f.choice.Chunk > 1 && f.in.Plan.Stages[f.choice.Chunk-2].Level == job.Level {
		return nil
	}

	if err := f.window.free(ctx); err != nil {
		return err
	}
	what := fmt.Sprintf("data of level %d", job.Level)
	id := fmt.Sprintf("%s/finetune/level-%d", f.in.Run, job.Level)
	*f.p = Progress{Phase: what, Steps: f.p.Steps, Child: id, Since: workflow.Now(ctx)}
	in := SynthesisInput{
		ID:   stage1.LevelID{Run: f.in.Run, Level: job.Level, Chunk: f.choice.Chunk},
		Plan: f.in.Plan,
	}
	f.child = workflow.ExecuteChildWorkflow(child(ctx, id, what), Synthesis, in)
	err := childError(ctx, f.child.Get(ctx, nil))
	f.child = nil

	return err
}

// evaluate plays one agent on val, or all agents if each sees only a part of the screen, and adds the point to the
// curve.
func (f *fineTuning) evaluate(ctx workflow.Context, chunk runs.Chunk) (float64, error) {
	one := rules.EvalSystem{
		Name: fmt.Sprintf("chunk-%04d", f.choice.Chunk), Policies: []string{chunk.Policy.Digest}, Rounds: 1,
		Temperature: []float64{fineTuneTemperature}, TopP: f.in.Plan.TopP,
	}
	players := "one agent"
	if tuned := f.in.Plan.Tuned; tuned != nil {
		name := one.Name
		one = *tuned
		one.Name = name
		one.Policies = slices.Repeat([]string{chunk.Policy.Digest}, f.in.Plan.Agents)
		players = "all agents"
	}
	item := rules.Split{Name: domain.SplitVal, Episodes: f.in.Plan.Val}.Item(f.in.Run, rules.EpochFolder(0), one)
	*f.p = Progress{Phase: PhaseEvaluation, Slots: item.Episodes, Steps: chunk.Steps, Since: workflow.Now(ctx)}
	res, err := evaluateItem(ctx, item, f.p, &f.window)
	if err != nil {
		return 0, err
	}

	f.choice.Curve = append(f.choice.Curve, runs.EvalPoint{At: chunk.Steps, Rate: res.Rate})
	details := fmt.Sprintf("%d optimiser steps, %s on val %.1f %%", chunk.Steps, players, 100*res.Rate)
	if len(f.in.Plan.Stages) == 0 {
		details += fmt.Sprintf(" (stops at %.0f %%)", 100*f.in.Plan.StopLow)
	}
	workflow.SetCurrentDetails(ctx, details)

	return res.Rate, nil
}
