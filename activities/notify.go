package activities

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/observe/notify"
)

// Notices tell people what happened.
type Notices struct {
	Webhook notify.Webhook
	// Start starts the workflow that delivers a notice, unless it was started before. If nil, nothing is delivered.
	Start func(ctx context.Context, n domain.Notice) error
	// Missed returns how many firings of a schedule were later than it allows. nil: nobody knows.
	Missed func(ctx context.Context, schedule string) (int, error)
}

// Post starts the delivery of a notice. Nothing waits for the webhook.
func (c *Control) Post(ctx context.Context, n domain.Notice) (int, error) {
	return do(ctx, c.log(n.Run, "notice", n.Kind), func(ctx context.Context, _ say) (int, error) {
		if c.Notices.Start == nil {
			return 0, nil
		}

		return 0, c.Notices.Start(ctx, n)
	})
}

// Deliver posts a notice to the webhook. It may be repeated: the notice keeps its id.
func (c *Control) Deliver(ctx context.Context, n domain.Notice) (int, error) {
	return do(ctx, c.log(n.Run, "notice", n.Kind), func(ctx context.Context, _ say) (int, error) {
		return 0, c.Notices.Webhook.Post(ctx, n)
	})
}
