package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/store/runs"
)

// maxOpenBatches is the number of batches that a workflow has open at once: Temporal accepts 2,000 activities.
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

	w := &window{size: maxOpenBatches}
	w.listen(ctx)
	wg := workflow.NewWaitGroup(ctx)
	var first error
	for i, item := range items {
		if item.Episodes == 0 {
			continue
		}
		wg.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer wg.Done()
			r, err := evaluate(ctx, item, &p, w)
			if err != nil && first == nil {
				first = err
			}
			out[i] = r
		})
	}
	wg.Wait(ctx)

	return out, first
}

// evaluate plays one item in batches and records its result. It counts progress in p. An open batch takes a place in w.
func evaluate(ctx workflow.Context, item rules.EvalItem, p *Progress, w *window) (runs.Result, error) {
	var result runs.Result
	whole := activities.Evaluated{Item: item}
	err := batches(ctx, w, item.Episodes, activities.EvalBatch, p, func(ctx workflow.Context, from, to int) error {
		r := activities.EvalRange{Item: item, From: from, To: to}
		summary := fmt.Sprintf("%s on %s, episodes %d to %d", item.System.Name, item.Split, r.From+1, r.To)
		play := urgent(on(ctx, QueueRollout, summary)) // The next epoch's rollouts may fill the queue already.
		var x activities.EvalPart
		if err := workflow.ExecuteActivity(play, rollout.Evaluate, r).Get(ctx, &x); err != nil {
			return err
		}
		whole.Part = whole.Part.Plus(x)
		p.Successes += x.Successes

		return nil
	})
	if err != nil {
		return result, err
	}

	record := long(on(ctx, QueueControl, "record the result of "+item.System.Name+" on "+item.Split))
	err = workflow.ExecuteActivity(record, control.Conclude, whole).Get(ctx, &result)

	return result, err
}

// batches does the batches of 0..n-1 in the window, and counts them in p when they have ended.
func batches(
	ctx workflow.Context, w *window, n, size int, p *Progress, do func(ctx workflow.Context, from, to int) error,
) error {
	return w.eachAgain(ctx, (n+size-1)/size, func(ctx workflow.Context, i int) error {
		from, to := i*size, min((i+1)*size, n)
		err := do(ctx, from, to)
		if err == nil {
			p.Done += to - from
		}

		return err
	})
}
