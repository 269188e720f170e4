package store

import "context"

// Keys returns the keys under a prefix, in lexical order.
func Keys(ctx context.Context, bucket Bucket, prefix string) ([]string, error) {
	objects, err := bucket.List(ctx, prefix)
	keys := make([]string, len(objects))
	for i, ref := range objects {
		keys[i] = ref.Key
	}

	return keys, err
}
