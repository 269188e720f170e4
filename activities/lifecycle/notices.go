package lifecycle

import (
	"context"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/observe/notify"
)

// Notices inform people about events of runs and schedules.
type Notices struct {
	Webhook notify.Webhook
	// Start starts the workflow that delivers a notice, unless it was started before. If it is nil, nothing is
	// delivered.
	Start func(ctx context.Context, n domain.Notice) error
}

// Post starts the delivery of a notice. Nothing waits for the webhook.
func (c *Control) Post(ctx context.Context, notice domain.Notice) (int, error) {
	log := c.Log.For(notice.Run, "notice", notice.Kind)

	return activities.Do(ctx, log, func(ctx context.Context, _ activities.Progress) (int, error) {
		if c.Notices.Start == nil {
			return 0, nil
		}

		return 0, c.Notices.Start(ctx, notice)
	})
}

// Deliver posts a notice to the webhook. It may be repeated: the notice keeps its id.
func (c *Control) Deliver(ctx context.Context, notice domain.Notice) (int, error) {
	log := c.Log.For(notice.Run, "notice", notice.Kind)

	return activities.Do(ctx, log, func(ctx context.Context, _ activities.Progress) (int, error) {
		return 0, c.Notices.Webhook.Post(ctx, notice)
	})
}
