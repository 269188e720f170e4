package store

import "context"

// Keys returns the keys under a prefix, in lexical order.
func Keys(ctx context.Context, b Bucket, prefix string) ([]string, error) {
	objects, err := b.List(ctx, prefix)
	keys := make([]string, len(objects))
	for i, o := range objects {
		keys[i] = o.Key
	}

	return keys, err
}
