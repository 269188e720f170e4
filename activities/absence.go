package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// absentPatience is how long the tries of an activity wait for an object that the store does not show before a person
// has to decide. A store that has failed over, or is being restored, shows it again by then.
const absentPatience = 5 * time.Minute

// absenceBegan returns when the tries of the activity that runs began to miss an object of the store, or the zero time
// if the last try did not.
func absenceBegan(ctx context.Context) (since time.Time) {
	var line string
	if activity.IsActivity(ctx) && activity.HasHeartbeatDetails(ctx) {
		_ = activity.GetHeartbeatDetails(ctx, &line, &since) // other heartbeats have no time
	}

	return since
}

// waitForAbsent returns the error of a try. That the store does not show an object which must exist is a transient
// fault at first. If it lasts, it is a corrupt fault, about which a person decides.
func waitForAbsent(ctx context.Context, since time.Time, err error) error {
	absent := errors.Is(err, store.ErrAbsent)
	if !absent && (!errors.Is(err, store.ErrNotFound) || fault.KindOf(err) != fault.Transient) {
		return err
	}
	now := time.Now()
	if since.IsZero() {
		since = now
	}
	if activity.IsActivity(ctx) {
		activity.RecordHeartbeat(ctx, "waits for an object that the store does not show", since)
	}
	waited := now.Sub(since)
	if waited >= absentPatience {
		return fault.New(fault.Corrupt, "for %v: %w; once it is there again, `collabui resume` continues the run",
			waited.Round(time.Second), err)
	}

	return fault.As(fault.Transient, err)
}
