package workers

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/activities/lifecycle"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/workflows"
)

// notices returns how this process tells people what happened.
func (d *dependencies) notices(temporal client.Client) lifecycle.Notices {
	n := lifecycle.Notices{Webhook: d.webhook}
	if d.webhook.Exists() {
		n.Start = func(ctx context.Context, notice domain.Notice) error { return d.notify(ctx, temporal, notice) }
	}

	return n
}

// missedFirings returns how many firings of a schedule were later than it allows.
func missedFirings(temporal client.Client) func(ctx context.Context, schedule string) (int, error) {
	return func(ctx context.Context, schedule string) (int, error) {
		described, err := DescribeSchedule(ctx, temporal, schedule)
		var gone *serviceerror.NotFound
		if errors.As(err, &gone) { // it was deleted, and its last firing continues
			return 0, nil
		}

		return described.Missed, err
	}
}

// notify starts the workflow that delivers a notice. For one that was started before, the client returns no error.
func (d *dependencies) notify(ctx context.Context, temporal client.Client, n domain.Notice) error {
	ctx, err := d.guard.Here(ctx)
	if err != nil {
		return err
	}
	_, err = temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: workflows.NotifyID(n), TaskQueue: workflows.QueueControl, StaticSummary: string(n.Kind) + ": " + n.Run,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
	}, workflows.Notify, n)
	return err
}

// warn tells people that the budget of a run is nearly spent. Nothing waits for it.
func (d *dependencies) warn(temporal client.Client) func(run, text string) {
	return func(run, text string) {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			notice := domain.Notice{
				ID: run + "/budget: " + text, Kind: domain.NoticeBudget, At: time.Now().UTC(), Run: run, Text: text,
			}
			if err := d.notify(ctx, temporal, notice); err != nil {
				d.log.Warn("the notice that a budget is nearly spent was lost", "run", run, "error", err)
			}
		}()
	}
}
