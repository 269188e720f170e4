package infer

import (
	"context"
	"strconv"
	"time"

	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/store"
)

// OfLine returns the system that a line currently accepts. The error wraps store.ErrNotFound if it accepts none.
func OfLine(ctx context.Context, bucket store.Bucket, line string) (TrainedSystem, error) {
	entry, err := lines.Line(line).Current(ctx, bucket)
	if err != nil {
		return TrainedSystem{}, err
	}

	return acceptedSystem(ctx, bucket, line, entry)
}

// acceptedSystem returns the system of an entry of a line.
func acceptedSystem(ctx context.Context, bucket store.Bucket, line string, entry lines.Entry) (TrainedSystem, error) {
	system, err := Find(ctx, bucket, entry.System.Run, strconv.Itoa(entry.System.Epoch))
	system.Line = line
	system.Policies = entry.System.Policies

	return system, err
}

// Follow keeps a server on the system that a line accepts, until ctx ends. It checks the line at the interval every,
// and switches when the new policies are loaded. Until then, and while the store does not answer, the old system
// answers. report is called after every switch, and once for every new error.
func (s *Server) Follow(
	ctx context.Context, bucket store.Bucket, line string, every time.Duration,
	load func(ctx context.Context, policy string, quorum int) error, report func(TrainedSystem, error),
) {
	sys := *s.current.Load()
	take := func(ctx context.Context, entry lines.Entry) (err error) {
		if sys, err = acceptedSystem(ctx, bucket, line, entry); err != nil {
			return err
		}
		err = sys.Load(ctx, load)
		if err == nil {
			s.Switch(sys)
		}

		return err
	}
	current := lines.SystemRef{Run: sys.Run, Epoch: sys.Epoch}
	lines.Line(line).Follow(ctx, bucket, current, every, take, func(_ lines.Entry, err error) { report(sys, err) })
}
