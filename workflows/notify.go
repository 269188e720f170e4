package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/domain"
)

// NotifyID is the id of the workflow that delivers a notice.
func NotifyID(notice domain.Notice) string { return "notify/" + notice.ID }

// deliveryLimit is how long a webhook may be away before a notice is given up, and its workflow fails.
const deliveryLimit = 7 * 24 * time.Hour

// Notify delivers a notice. A webhook that does not answer is tried again, and nothing else waits for it.
func Notify(ctx workflow.Context, notice domain.Notice) error {
	ctx = on(ctx, QueueControl, "notify: "+string(notice.Kind))
	options := workflow.GetActivityOptions(ctx)
	options.ScheduleToCloseTimeout = deliveryLimit
	options.RetryPolicy = &temporal.RetryPolicy{
		InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute, // without limit
	}

	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), control.Deliver, notice).Get(ctx, nil)
}
