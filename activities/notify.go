package activities

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/collabui/collabui/internal/process/notify"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/notices"
)

// Notices tells people what happened.
type Notices struct {
	Receivers []notify.Receiver // that this host tells
	// Wake starts the workflow that tells a receiver, unless it runs. nil: somebody else does.
	Wake func(ctx context.Context, receiver notices.Receiver) error
	// Missed returns how many firings of a schedule were later than it allows. nil: nobody knows.
	Missed func(ctx context.Context, schedule string) (int, error)
}

// Post writes a notice and wakes what tells all known receivers.
func (x Notices) Post(ctx context.Context, b store.Bucket, n notices.Notice) error {
	if _, err := notices.Append(ctx, b, n); err != nil {
		return err
	}
	known, err := notices.Receivers(ctx, b)
	if err != nil || x.Wake == nil {
		return err
	}
	for _, r := range known {
		if err := x.Wake(ctx, r); err != nil {
			return err
		}
	}

	return nil
}

// Post writes a notice. Its receivers are told later, so nothing waits for them.
func (c *Control) Post(ctx context.Context, n notices.Notice) (int, error) {
	return do(ctx, c.log(n.Run, "notice", n.Kind), func(ctx context.Context, _ say) (int, error) {
		return 0, c.Notices.Post(ctx, c.Bucket, n)
	})
}

// perDelivery is the number of notices that one activity tells.
const perDelivery = 20

// Deliver tells a receiver the next notices in order, and reports whether there may be more. It stops at the first one
// that the receiver does not take: a retry goes on with it.
func (c *Control) Deliver(ctx context.Context, name notices.Receiver) (more bool, err error) {
	return do(ctx, c.log("", "receiver", name), func(ctx context.Context, say say) (bool, error) {
		i := slices.IndexFunc(c.Notices.Receivers, func(r notify.Receiver) bool { return r.Name == string(name) })
		if i < 0 { // it is not told any more
			return false, nil
		}
		told, err := name.Told(ctx, c.Bucket)
		if err != nil {
			return false, err
		}
		for range perDelivery {
			n, ok, err := notices.Next(ctx, c.Bucket, told)
			if err != nil || !ok {
				return false, err
			}
			d := notices.Delivery{Skipped: !c.Notices.Receivers[i].Wants(n)}
			if !d.Skipped {
				if err := c.Notices.Receivers[i].Tell(ctx, n); err != nil {
					return true, err
				}
			}
			d.At = time.Now().UTC()
			if err := name.Delivered(ctx, c.Bucket, n.Number, d); err != nil {
				return true, err
			}
			told = n.Number
			say(fmt.Sprintf("%s was told notice %d", name, told))
		}

		return true, nil
	})
}
