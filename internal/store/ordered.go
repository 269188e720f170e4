package store

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// readAhead is how many things InOrder reads concurrently, and how many wait for their turn.
const readAhead = 16

// InOrder reads n things, some of them concurrently, and passes them on in their order. It holds only a few in memory
// at a time.
func InOrder[T any](
	ctx context.Context, n int, read func(ctx context.Context, i int) (T, error), use func(i int, v T) error,
) error {
	group, ctx := errgroup.WithContext(ctx)
	turns := make(chan chan T, readAhead)
	group.Go(func() error {
		defer close(turns)
		for i := range n {
			turn := make(chan T, 1)
			select {
			case turns <- turn:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			group.Go(func() error {
				v, err := read(ctx, i)
				if err == nil {
					turn <- v
				}

				return err
			})
		}

		return nil
	})
	group.Go(func() error {
		i := 0
		for turn := range turns {
			select {
			case v := <-turn:
				if err := use(i, v); err != nil {
					return err
				}
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			i++
		}

		return nil
	})

	return group.Wait()
}
