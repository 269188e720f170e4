package workers

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/workflows"
)

// notices returns how this process notifies people.
func (d *dependencies) notices(c client.Client) activities.Notices {
	n := activities.Notices{
		Webhook: d.webhook,
		Missed: func(ctx context.Context, schedule string) (int, error) {
			s, err := DescribeSchedule(ctx, c, schedule)
			var gone *serviceerror.NotFound
			if errors.As(err, &gone) { // it was deleted, and its last firing goes on
				return 0, nil
			}

			return s.Missed, err
		},
	}
	if d.webhook.Exists() {
		n.Start = func(ctx context.Context, n domain.Notice) error { return d.notify(ctx, c, n) }
	}

	return n
}

// notify starts the workflow that delivers a notice. For one that was started before, the client returns no error.
func (d *dependencies) notify(ctx context.Context, c client.Client, n domain.Notice) error {
	ctx, err := d.guard.Here(ctx)
	if err != nil {
		return err
	}
	_, err = c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: workflows.NotifyID(n), TaskQueue: workflows.QueueControl, StaticSummary: string(n.Kind) + ": " + n.Run,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
	}, workflows.Notify, n)
	return err
}

// warn notifies people that the budget of a run is nearly spent. Nothing waits for it.
func (d *dependencies) warn(c client.Client) func(run, text string) {
	return func(run, text string) {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			n := domain.Notice{
				ID: run + "/budget: " + text, Kind: domain.NoticeBudget, At: time.Now().UTC(), Run: run, Text: text,
			}
			if err := d.notify(ctx, c, n); err != nil {
				d.log.Warn("the notice that a budget is nearly spent was lost", "run", run, "error", err)
			}
		}()
	}
}
