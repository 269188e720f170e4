package store

import (
	"context"
	"errors"
	"sort"
)

// Last returns the number of the last entry of a log whose entries are numbered without gaps, or after if no entry
// follows entry after. key names entry n. The number of requests grows with the logarithm of the entries that follow.
//
// An entry that is written meanwhile need not count, nor one that the store does not show yet. Only PutOnce decides
// whether an entry is the next one: a caller that finds the key taken reads that entry and tries the number after it.
// Last may be repeated.
func Last(ctx context.Context, bucket Bucket, after int, key func(n int) string) (int, error) {
	var failed error
	absent := func(n int) bool {
		_, err := bucket.Get(ctx, key(n))
		if err != nil && !errors.Is(err, ErrNotFound) {
			failed = err
		}

		return err != nil
	}
	span := 1 // entry after+span is the first that is known to be absent
	for !absent(after + span) {
		span *= 2
	}
	from := span / 2 // entry after+from is the last that is known to exist
	rest := sort.Search(span-from-1, func(i int) bool { return failed != nil || absent(after+from+1+i) })

	return after + from + rest, failed
}
