package lines

import (
	"context"
	"time"

	"github.com/collabui/collabui/internal/store"
)

// Follow reads every so often which system the line accepts, until ctx ends. It calls take if that is another system
// than the one last taken, which is now at first. If anything fails, it is tried again at the next reading. told is
// called after each successful take, and once for each error.
func (l Line) Follow(
	ctx context.Context, b store.Bucket, now System, every time.Duration,
	take func(context.Context, Entry) error, told func(Entry, error),
) {
	said := ""
	for {
		e, err := l.Current(ctx, b)
		if err != nil || e.System.String() != now.String() {
			if err == nil {
				err = take(ctx, e)
			}
			switch {
			case err == nil:
				now = e.System
				said = ""
				told(e, nil)
			case ctx.Err() == nil && err.Error() != said:
				said = err.Error()
				told(e, err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}
