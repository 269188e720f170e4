package workers

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/internal/store/notices"
	"github.com/collabui/collabui/workflows"
)

// WakeReceiver starts the workflow that tells a receiver, or tells it that there is more.
func WakeReceiver(ctx context.Context, c client.Client, r notices.Receiver) error {
	_, err := c.SignalWithStartWorkflow(ctx, workflows.NotifyID(r), workflows.SignalNotice, nil,
		client.StartWorkflowOptions{TaskQueue: workflows.QueueControl, StaticSummary: "notices for " + string(r)},
		workflows.Notify, r)

	return err
}

// notices returns how this process tells people what happened.
func (d *dependencies) notices(c client.Client) activities.Notices {
	return activities.Notices{
		Receivers: d.receivers,
		Wake:      func(ctx context.Context, r notices.Receiver) error { return d.wake(ctx, c, r) },
		Missed: func(ctx context.Context, schedule string) (int, error) {
			s, err := DescribeSchedule(ctx, c, schedule)
			var gone *serviceerror.NotFound
			if errors.As(err, &gone) { // it was deleted, and its last firing goes on
				return 0, nil
			}

			return s.Missed, err
		},
	}
}

// wake is WakeReceiver for a receiver of this worker's store.
func (d *dependencies) wake(ctx context.Context, c client.Client, r notices.Receiver) error {
	ctx, err := d.guard.Here(ctx)
	if err != nil {
		return err
	}

	return WakeReceiver(ctx, c, r)
}

// warn tells people that the budget of a run is nearly spent. Nothing waits for it.
func (d *dependencies) warn(c client.Client) func(run, text string) {
	return func(run, text string) {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			n := notices.Notice{
				ID: run + "/budget: " + text, Kind: notices.Budget, At: time.Now().UTC(), Run: run, Text: text,
			}
			if err := d.notices(c).Post(ctx, d.bucket, n); err != nil {
				d.log.Warn("the notice that a budget is nearly spent was lost", "run", run, "error", err)
			}
		}()
	}
}

// registerEvery is how often a control worker tries to make its receivers known.
const registerEvery = 5 * time.Second

// register makes the receivers of this host known, and tells them what was not told yet. It tries until it succeeds.
func (d *dependencies) register(ctx context.Context, c client.Client) {
	left := make([]notices.Receiver, len(d.receivers))
	for i, r := range d.receivers {
		left[i] = notices.Receiver(r.Name)
	}
	for len(left) > 0 {
		left = slices.DeleteFunc(left, func(r notices.Receiver) bool {
			err := r.Register(ctx, d.bucket)
			if err == nil {
				err = d.wake(ctx, c, r)
			}
			if err != nil {
				d.log.Warn("a receiver of notices is not known yet", "receiver", r, "error", err)
			}

			return err == nil
		})
		select {
		case <-ctx.Done():
			return
		case <-time.After(registerEvery):
		}
	}
}
