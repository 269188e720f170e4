package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities/lifecycle"
	"github.com/collabui/collabui/activities/stage1"
	"github.com/collabui/collabui/internal/method/synth"
)

// SynthesisInput is the data set of one level of a run.
type SynthesisInput struct {
	ID   stage1.LevelID
	Plan lifecycle.Plan
}

// Synthesis makes the data set of a level (docs/method.md, Stage 1): the UI agent explores training tasks, once for all
// levels; screens are drawn; items are written about them, or pairs are made along them; the data set is assembled with
// its card. An imported data set is only checked.
func Synthesis(ctx workflow.Context, in SynthesisInput) (synth.Card, error) {
	var card synth.Card
	progress := Progress{Phase: PhaseExploration, Slots: in.Plan.Demos, Since: workflow.Now(ctx)}
	if err := answerProgress(ctx, &progress); err != nil {
		return card, err
	}
	open := &window{size: maxOpenBatches, progress: &progress}
	open.listen(ctx)
	if !in.Plan.Imported[in.ID.Level-1] {
		if err := synthesise(ctx, in, &progress, open); err != nil {
			return card, err
		}
	}

	assemble := long(on(ctx, QueueControl, "assemble the data set"))
	err := workflow.ExecuteActivity(assemble, control.Assemble, in.ID).Get(ctx, &card)
	if err == nil {
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d rows", card.Rows))
	}

	return card, err
}

// synthesise explores, draws screens and writes items about them.
func synthesise(ctx workflow.Context, in SynthesisInput, progress *Progress, open *window) error {
	run := in.ID.Run
	level := in.ID.Level
	n := in.Plan.Demos
	explore := func(ctx workflow.Context, from, to int) error {
		ectx := on(ctx, QueueRollout, fmt.Sprintf("trajectories %d to %d", from, to-1))
		batch := stage1.Batch{Run: run, From: from, To: to}

		return workflow.ExecuteActivity(ectx, rollouts.Explore, batch).Get(ctx, nil)
	}
	if err := batches(ctx, open, n, stage1.DemoBatch, progress, explore); err != nil {
		return err
	}

	draw := long(on(ctx, QueueControl, "draw the screens"))
	if err := workflow.ExecuteActivity(draw, control.PlanLevel, in.ID).Get(ctx, nil); err != nil {
		return err
	}

	*progress = Progress{Phase: PhaseSynthesis, Slots: n, Since: workflow.Now(ctx)}
	write := func(ctx workflow.Context, from, to int) error {
		wctx := on(ctx, QueueModel, fmt.Sprintf("level %d, trajectories %d to %d", level, from, to-1))
		part := stage1.LevelRange{LevelID: in.ID, From: from, To: to}

		return workflow.ExecuteActivity(wctx, models.Synthesize, part).Get(ctx, nil)
	}

	return batches(ctx, open, n, stage1.SynthesisBatch, progress, write)
}
