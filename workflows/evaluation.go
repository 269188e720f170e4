package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/store/runs"
)

// oldEvalBatch is the number of episodes per activity in evaluations that older versions began.
const oldEvalBatch = 25

// Evaluation plays systems on splits, all items concurrently, and records a result for each.
func Evaluation(ctx workflow.Context, items []rules.EvalItem) ([]runs.Result, error) {
	out, p := make([]runs.Result, len(items)), Progress{Phase: PhaseEvaluation, Since: workflow.Now(ctx)}
	if err := workflow.SetQueryHandler(ctx, QueryProgress, func() (Progress, error) { return p, nil }); err != nil {
		return nil, err
	}
	for _, item := range items {
		p.Slots += item.Episodes
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
			r, err := evaluate(ctx, item, &p)
			if err != nil && first == nil {
				first = err
			}
			out[i] = r
		})
	}
	wg.Wait(ctx)

	return out, first
}

// evaluate plays one item in batches and records its result. It counts progress in p.
func evaluate(ctx workflow.Context, item rules.EvalItem, p *Progress) (runs.Result, error) {
	var parts []workflow.Future
	batch := activities.EvalBatch
	if workflow.GetVersion(ctx, "batches of 10", workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		batch = oldEvalBatch
	}
	for from := 0; from < item.Episodes; from += batch {
		r := activities.EvalRange{Item: item, From: from, To: min(from+batch, item.Episodes)}
		summary := fmt.Sprintf("%s on %s, episodes %d to %d", item.System.Name, item.Split, r.From+1, r.To)
		play := urgent(on(ctx, QueueRollout, summary)) // The next epoch's rollouts may fill the queue already.
		parts = append(parts, workflow.ExecuteActivity(play, rollout.Evaluate, r))
	}

	whole := activities.Evaluated{Item: item}
	var result runs.Result
	for i, f := range parts {
		var x activities.EvalPart
		if err := f.Get(ctx, &x); err != nil {
			return result, err
		}
		whole.Part = whole.Part.Plus(x)
		p.Done += min(batch, item.Episodes-i*batch)
		p.Successes += x.Successes
	}

	record := long(on(ctx, QueueControl, "record the result of "+item.System.Name+" on "+item.Split))
	err := workflow.ExecuteActivity(record, control.Conclude, whole).Get(ctx, &result)

	return result, err
}
