package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/domain"
)

// NotifyID is the id of the workflow that delivers a notice.
func NotifyID(n domain.Notice) string { return "notify/" + n.ID }

// deliveryLimit is how long a webhook may be away before a notice is given up, and its workflow fails.
const deliveryLimit = 7 * 24 * time.Hour

// Notify delivers a notice. A webhook that does not answer is asked again, and nothing else waits for it.
func Notify(ctx workflow.Context, n domain.Notice) error {
	ctx = on(ctx, QueueControl, "notify: "+string(n.Kind))
	o := workflow.GetActivityOptions(ctx)
	o.ScheduleToCloseTimeout = deliveryLimit
	o.RetryPolicy = &temporal.RetryPolicy{
		InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute, // without limit
	}

	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, o), control.Deliver, n).Get(ctx, nil)
}
