package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/store/runs"
)

// maxOpenBatches is the number of batches that an evaluation has open at once: Temporal accepts 2,000 activities.
const maxOpenBatches = 1000

// Evaluation plays systems on splits, all items concurrently, and records a result for each.
func Evaluation(ctx workflow.Context, items []rules.EvalItem) ([]runs.Result, error) {
	out, p := make([]runs.Result, len(items)), Progress{Phase: PhaseEvaluation, Since: workflow.Now(ctx)}
	if err := workflow.SetQueryHandler(ctx, QueryProgress, func() (Progress, error) { return p, nil }); err != nil {
		return nil, err
	}
	for _, item := range items {
		p.Slots += item.Episodes
	}

	var places workflow.Semaphore
	if p.Slots > maxOpenBatches*activities.EvalBatch {
		places = workflow.NewSemaphore(ctx, maxOpenBatches)
	}
	wg := workflow.NewWaitGroup(ctx)
	var first error
	for i, item := range items {
		if item.Episodes == 0 {
			continue
		}
		wg.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer wg.Done()
			r, err := evaluate(ctx, item, &p, places)
			if err != nil && first == nil {
				first = err
			}
			out[i] = r
		})
	}
	wg.Wait(ctx)

	return out, first
}

// evaluate plays one item in batches and records its result. It counts progress in p. An open batch takes a place; nil
// means that there are enough.
func evaluate(
	ctx workflow.Context, item rules.EvalItem, p *Progress, places workflow.Semaphore,
) (runs.Result, error) {
	var result runs.Result
	var parts []workflow.Future
	for from := 0; from < item.Episodes; from += activities.EvalBatch {
		r := activities.EvalRange{Item: item, From: from, To: min(from+activities.EvalBatch, item.Episodes)}
		summary := fmt.Sprintf("%s on %s, episodes %d to %d", item.System.Name, item.Split, r.From+1, r.To)
		play := urgent(on(ctx, QueueRollout, summary)) // The next epoch's rollouts may fill the queue already.
		if places != nil {
			if err := places.Acquire(ctx, 1); err != nil {
				return result, err
			}
		}
		part := workflow.ExecuteActivity(play, rollout.Evaluate, r)
		parts = append(parts, part)
		workflow.Go(ctx, func(ctx workflow.Context) {
			var x activities.EvalPart
			if part.Get(ctx, &x) == nil { // its error is returned below
				p.Done, p.Successes = p.Done+r.To-r.From, p.Successes+x.Successes
			}
			if places != nil {
				places.Release(1)
			}
		})
	}

	whole := activities.Evaluated{Item: item}
	for _, part := range parts {
		var x activities.EvalPart
		if err := part.Get(ctx, &x); err != nil {
			return result, err
		}
		whole.Part = whole.Part.Plus(x)
	}

	record := long(on(ctx, QueueControl, "record the result of "+item.System.Name+" on "+item.Split))
	err := workflow.ExecuteActivity(record, control.Conclude, whole).Get(ctx, &result)

	return result, err
}
