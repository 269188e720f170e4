package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities/evaluate"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/records/runs"
)

// maxOpenBatches is the number of batches that a workflow has open at once: Temporal accepts 2,000 activities.
const maxOpenBatches = 1000

// Evaluation plays systems on splits, all items concurrently, and records a result for each.
func Evaluation(ctx workflow.Context, items []rules.EvalItem) ([]runs.Result, error) {
	out := make([]runs.Result, len(items))
	progress := Progress{Phase: PhaseEvaluation, Since: workflow.Now(ctx)}
	if err := answerProgress(ctx, &progress); err != nil {
		return nil, err
	}
	for _, item := range items {
		progress.Slots += item.Episodes
	}

	open := &window{size: maxOpenBatches, progress: &progress}
	open.listen(ctx)
	wg := workflow.NewWaitGroup(ctx)
	var first error
	for i, item := range items {
		if item.Episodes == 0 {
			continue
		}
		wg.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer wg.Done()
			result, err := evaluateItem(ctx, item, &progress, open)
			if err != nil && first == nil {
				first = err
			}
			out[i] = result
		})
	}
	wg.Wait(ctx)

	return out, first
}

// evaluate plays one item in batches and records its result. It counts its progress. An open batch takes a place in
// the window.
func evaluateItem(ctx workflow.Context, item rules.EvalItem, progress *Progress, open *window) (runs.Result, error) {
	var result runs.Result
	whole := evaluate.Evaluated{Item: item}
	batch := func(ctx workflow.Context, from, to int) error {
		part := evaluate.Range{Item: item, From: from, To: to}
		summary := fmt.Sprintf("%s on %s, episodes %d to %d", item.System.Name, item.Split, part.From+1, part.To)
		play := urgent(on(ctx, QueueRollout, summary)) // The next epoch's rollouts may fill the queue already.
		var played evaluate.Part
		if err := workflow.ExecuteActivity(play, rollouts.Evaluate, part).Get(ctx, &played); err != nil {
			return err
		}
		whole.Part = whole.Part.Plus(played)
		progress.Successes += played.Successes

		return nil
	}
	if err := batches(ctx, open, item.Episodes, evaluate.BatchSize, progress, batch); err != nil {
		return result, err
	}

	record := long(on(ctx, QueueControl, "record the result of "+item.System.Name+" on "+item.Split))
	err := workflow.ExecuteActivity(record, control.Conclude, whole).Get(ctx, &result)

	return result, err
}

// batches does the batches of 0..n-1 in a window, and counts them when they have ended.
func batches(
	ctx workflow.Context, open *window, n, size int, progress *Progress,
	do func(ctx workflow.Context, from, to int) error,
) error {
	return open.eachAgain(ctx, (n+size-1)/size, func(ctx workflow.Context, i int) error {
		from := i * size
		to := min(from+size, n)
		err := do(ctx, from, to)
		if err == nil {
			progress.Done += to - from
		}

		return err
	})
}
