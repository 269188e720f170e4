package store

import (
	"context"
	"slices"
	"strings"
)

// Keys returns the keys under a prefix, in lexical order.
func Keys(ctx context.Context, b Bucket, prefix string) ([]string, error) {
	objects, err := b.List(ctx, prefix)
	keys := make([]string, len(objects))
	for i, o := range objects {
		keys[i] = o.Key
	}

	return keys, err
}

// Folders returns the names of the folders directly under a prefix, in lexical order.
func Folders(ctx context.Context, b Bucket, prefix string) ([]string, error) {
	keys, err := Keys(ctx, b, prefix)
	for i, key := range keys {
		keys[i], _, _ = strings.Cut(strings.TrimPrefix(key, prefix), "/")
	}

	return slices.Compact(keys), err
}
