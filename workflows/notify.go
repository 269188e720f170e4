package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/internal/store/notices"
)

// SignalNotice wakes the workflow that tells a receiver.
const SignalNotice = "notice"

// NotifyID is the id of the workflow that tells a receiver.
func NotifyID(r notices.Receiver) string { return "notify/" + string(r) }

// deliveries is the number of activities after which Notify continues as new.
const deliveries = 500

// Notify tells a receiver all notices that it was not told yet, in order, and ends. Whoever writes another one starts
// it again. A receiver that does not answer is asked again without limit, and keeps nothing else waiting.
func Notify(ctx workflow.Context, r notices.Receiver) error {
	signals := workflow.GetSignalChannel(ctx, SignalNotice)
	dctx := long(on(ctx, QueueControl, fmt.Sprintf("tell %s", r)))
	o := workflow.GetActivityOptions(dctx)
	o.RetryPolicy = &temporal.RetryPolicy{
		InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second, // without limit
	}
	dctx = workflow.WithActivityOptions(dctx, o)

	for range deliveries {
		for signals.ReceiveAsync(nil) { // whatever they announce is read now
		}
		var more bool
		if err := workflow.ExecuteActivity(dctx, control.Deliver, r).Get(ctx, &more); err != nil {
			return err
		}
		if !more && signals.Len() == 0 {
			return nil
		}
	}

	return again(ctx, Notify, r)
}
