package endpoints

import (
	"context"
	"time"
)

// progressKey is the key of WithProgress in a context.
type progressKey struct{}

// WithProgress returns a context in which code reports its progress and what it waits for. say must be safe for
// concurrent use.
func WithProgress(ctx context.Context, say func(what string)) context.Context {
	return context.WithValue(ctx, progressKey{}, say)
}

// Progress reports what was done. Without WithProgress, it does nothing.
func Progress(ctx context.Context, what string) {
	if say, ok := ctx.Value(progressKey{}).(func(string)); ok {
		say(what)
	}
}

// sayEvery is the time between two reports of While.
const sayEvery = time.Minute

// While reports what is waited for, once a minute, until stop is called or the context ends. What is waited for must
// have a limit of its own: it counts as progress.
func While(ctx context.Context, what string) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	Progress(ctx, what)
	go func() {
		ticker := time.NewTicker(sayEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				Progress(ctx, what)
			case <-ctx.Done():
				return
			}
		}
	}()

	return stop
}
