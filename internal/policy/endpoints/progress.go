package endpoints

import (
	"context"
	"time"
)

// progressKey is the key of WithProgress's value in a context.
type progressKey struct{}

// WithProgress returns a context in which code reports its progress, and what it is waiting for, to say. say must be
// safe for concurrent use.
func WithProgress(ctx context.Context, say func(what string)) context.Context {
	return context.WithValue(ctx, progressKey{}, say)
}

// Progress reports what has been done. Without WithProgress, it does nothing.
func Progress(ctx context.Context, what string) {
	if say, ok := ctx.Value(progressKey{}).(func(string)); ok {
		say(what)
	}
}

// sayEvery is the interval between reports of While.
const sayEvery = time.Minute

// While reports what the code is waiting for, once a minute, until stop is called or the context ends. The wait counts
// as progress, so it must have its own time limit.
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
