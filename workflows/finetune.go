package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/record"
)

// FineTuneInput is stage 1 of a run.
type FineTuneInput struct {
	Run  string
	Plan activities.Plan
}

// Evaluated by stage 1: one agent at temperature 0.2.
const fineTuneTemperature = 0.2

// FineTune gives the base policy: expert demonstrations, then SFT in chunks until one agent's success on val reaches the band of the specification.
func FineTune(ctx workflow.Context, in FineTuneInput) (record.Policy, error) {
	var base record.Policy
	p := Progress{Phase: "demonstrations", Slots: in.Plan.Demos}
	if err := workflow.SetQueryHandler(ctx, QueryProgress, func() (Progress, error) { return p, nil }); err != nil {
		return base, err
	}
	wg := workflow.NewWaitGroup(ctx)
	var first error
	for from := 0; from < in.Plan.Demos; from += activities.DemoBatch {
		b := activities.Batch{Run: in.Run, From: from, To: min(from+activities.DemoBatch, in.Plan.Demos)}
		f := workflow.ExecuteActivity(on(ctx, QueueRollout, fmt.Sprintf("demonstrations %d to %d", b.From, b.To-1)), rollout.Demonstrate, b)
		wg.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer wg.Done()
			if err := f.Get(ctx, nil); err != nil && first == nil {
				first = err
			}
			p.Done += b.To - b.From
		})
	}
	wg.Wait(ctx)
	if first != nil {
		return base, first
	}
	choice := activities.BaseChoice{Run: in.Run, Why: "max_chunks"}
	for choice.Chunk < in.Plan.MaxChunks {
		choice.Chunk++
		p = Progress{Phase: "SFT", Steps: p.Steps}
		var c record.Chunk
		if err := workflow.ExecuteActivity(on(ctx, QueueGPU, fmt.Sprintf("SFT, chunk %d", choice.Chunk)), gpu.TrainChunk, activities.ChunkID{Run: in.Run, Chunk: choice.Chunk}).Get(ctx, &c); err != nil {
			return base, err
		}
		item := activities.EvalItem{Run: in.Run, Folder: activities.EpochFolder(0), Split: domain.SplitVal, Episodes: in.Plan.Val, System: activities.EvalSystem{
			Name: fmt.Sprintf("chunk-%04d", choice.Chunk), Policies: []string{c.Policy.Digest}, Rounds: 1, Temperature: []float64{fineTuneTemperature}, TopP: in.Plan.TopP}}
		p = Progress{Phase: "evaluation", Slots: item.Episodes, Steps: c.Steps}
		res, err := evaluate(ctx, item, &p)
		if err != nil {
			return base, err
		}
		choice.Curve = append(choice.Curve, record.EvalPoint{At: c.Steps, Rate: res.Rate})
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d optimiser steps, one agent on val %.1f %% (stops at %.0f %%)", c.Steps, 100*res.Rate, 100*in.Plan.StopLow))
		if res.Rate >= in.Plan.StopLow {
			choice.Why = "stop_low"
			break
		}
	}
	err := workflow.ExecuteActivity(on(ctx, QueueControl, "write base.json"), control.CommitBase, choice).Get(ctx, &base)
	return base, err
}
