package runs

import (
	"context"

	"github.com/collabui/collabui/internal/store"
)

// Log names the objects of a log by their numbers, from 1 without gaps. A log ends before the first number that the
// store does not have.
type Log[T any] func(n int) Object[T]

// Next returns the object after number n, or false at the end. It is a May: later calls find objects that are not shown
// yet.
func (l Log[T]) Next(ctx context.Context, bucket store.Bucket, n int) (T, bool, error) {
	return l(n+1).May(ctx, bucket)
}

// After returns the objects after number n, in order. It finds the end by Sure, and does not stop before the number
// known: the caller knows that the log is at least that long, or passes 0.
func (l Log[T]) After(ctx context.Context, bucket store.Bucket, n, known int) ([]T, error) {
	var out []T
	for {
		n++
		if n <= known {
			v, _, err := l(n).Must(ctx, bucket)
			if err != nil {
				return out, err
			}
			out = append(out, v)

			continue
		}
		v, exists, err := l(n).Sure(ctx, bucket)
		if err != nil || !exists {
			return out, err
		}
		out = append(out, v)
	}
}

// End returns the number of the last object from number n on, which exists or is 0. It reads few objects of a long log,
// and confirms the end by Sure.
func (l Log[T]) End(ctx context.Context, bucket store.Bucket, n int) (int, error) {
	last, err := store.Last(ctx, bucket, n, func(n int) string { return l(n).Key })
	if err != nil {
		return last, err
	}
	more, err := l.After(ctx, bucket, last, 0) // an object that was not shown may hide others

	return last + len(more), err
}
