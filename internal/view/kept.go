package view

import (
	"context"
	"sync"
	"time"
)

// keptFor is how long the viewer keeps what it reads from the whole store: at least this long, and long enough that
// reading takes at most a twentieth of the time.
const keptFor = 10 * time.Second

// kept returns a function that calls read only every so often, and otherwise returns what it last read. An error is not
// kept.
func kept[T any](read func(ctx context.Context) (T, error)) func(ctx context.Context) (T, error) {
	var mu sync.Mutex
	var known T
	var until time.Time

	return func(ctx context.Context) (T, error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Now().Before(until) {
			return known, nil
		}
		began := time.Now()
		read, err := read(ctx)
		if err != nil {
			return read, err
		}
		known = read
		until = time.Now().Add(max(keptFor, 20*time.Since(began)))

		return known, nil
	}
}
