package lines

import (
	"context"
	"time"

	"github.com/collabui/collabui/internal/store"
)

// Follow looks every so often which system the line accepts, until ctx ends, and gives it to take when it is another
// one than that which was taken last, at first than now. Whatever fails is tried again at the next look. told is called
// after every take, and with every error once.
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
				now, said = e.System, ""
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
