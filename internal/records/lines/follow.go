package lines

import (
	"context"
	"time"

	"github.com/collabui/collabui/internal/store"
)

// Follow reads every so often which system the line accepts, until ctx ends. It calls take if that is another system
// than the one last taken, which is now at first. If anything fails, it is tried again at the next reading. report is
// called after each successful take, and once for each error.
func (l Line) Follow(
	ctx context.Context, bucket store.Bucket, now SystemRef, every time.Duration,
	take func(context.Context, Entry) error, report func(Entry, error),
) {
	reported := ""
	for {
		entry, err := l.Current(ctx, bucket)
		if err != nil || entry.System.String() != now.String() {
			if err == nil {
				err = take(ctx, entry)
			}
			switch {
			case err == nil:
				now = entry.System
				reported = ""
				report(entry, nil)
			case ctx.Err() == nil && err.Error() != reported:
				reported = err.Error()
				report(entry, err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}
