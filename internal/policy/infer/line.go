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
	s, err := Find(ctx, b, e.System.Run, strconv.Itoa(e.System.Epoch))
	s.Line, s.Policies = line, e.System.Policies

	return s, err
}

// Follow keeps a server on the system that a line accepts, until ctx ends. It looks every so often, and switches when
// the new policies are loaded. Until then, and while the store does not answer, the old system answers. told is called
// with every switch, and with every error once.
func (s *Server) Follow(
	ctx context.Context, b store.Bucket, line string, every time.Duration,
	load func(ctx context.Context, policy string, quorum int) error, told func(System, error),
) {
	said := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
		sys, err := OfLine(ctx, b, line)
		if now := s.current.Load(); err == nil && sys.Run == now.Run && sys.Epoch == now.Epoch {
			continue
		}
		if err == nil {
			err = sys.Load(ctx, load)
		}
		if err == nil {
			s.Switch(sys)
			said = ""
			told(sys, nil)
		} else if ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			told(sys, err)
		}
	}
}
