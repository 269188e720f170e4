package infer

import (
	"context"
	"strconv"
	"time"

	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/lines"
)

// OfLine returns the system that a line accepts now. The error wraps store.ErrNotFound if it accepts none.
func OfLine(ctx context.Context, b store.Bucket, line string) (System, error) {
	e, err := lines.Line(line).Current(ctx, b)
	if err != nil {
		return System{}, err
	}

	return accepted(ctx, b, line, e)
}

// accepted returns the system of an entry of a line.
func accepted(ctx context.Context, b store.Bucket, line string, e lines.Entry) (System, error) {
	s, err := Find(ctx, b, e.System.Run, strconv.Itoa(e.System.Epoch))
	s.Line = line
	s.Policies = e.System.Policies

	return s, err
}

// Follow keeps a server on the system that a line accepts, until ctx ends. It looks every so often, and switches when
// the new policies are loaded. Until then, and while the store does not answer, the old system answers. told is called
// with every switch, and with every error once.
func (s *Server) Follow(
	ctx context.Context, b store.Bucket, line string, every time.Duration,
	load func(ctx context.Context, policy string, quorum int) error, told func(System, error),
) {
	sys := *s.current.Load()
	take := func(ctx context.Context, e lines.Entry) (err error) {
		if sys, err = accepted(ctx, b, line, e); err != nil {
			return err
		}
		if err = sys.Load(ctx, load); err == nil {
			s.Switch(sys)
		}

		return err
	}
	now := lines.System{Run: sys.Run, Epoch: sys.Epoch}
	lines.Line(line).Follow(ctx, b, now, every, take, func(_ lines.Entry, err error) { told(sys, err) })
}
