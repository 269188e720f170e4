package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Keeper is a Bucket whose objects can be removed. Only the care of the store does that; everything else writes once.
type Keeper interface {
	Bucket
	Clock

	// Copy writes the bytes of an object under another key, whether or not that is taken. The error wraps ErrNotFound
	// if there is no such object.
	Copy(ctx context.Context, from, to string) error

	// Delete removes an object, if there is one.
	Delete(ctx context.Context, key string) error
}

// Clock says when objects were written. Whoever copies an object changes that, so nothing depends on it.
type Clock interface {
	// Ages returns keys and sizes under a prefix, and when each object was written.
	Ages(ctx context.Context, prefix string) ([]Aged, error)
}

// Aged is an object and when it was written.
type Aged struct {
	Ref
	Written time.Time
}

// TrashPrefix is the prefix under which blobs are that nothing referred to. They are there for a while before they are
// removed for good, because somebody may have been about to refer to them. Whoever reads such a blob gets it back.
const TrashPrefix = "trash/"

// fromTrash returns a blob from the trash, after an error that says that it is missing, and returns that error
// otherwise.
func fromTrash(ctx context.Context, b Bucket, key string, missing error) error {
	k, ok := b.(Keeper)
	if !ok || !errors.Is(missing, ErrNotFound) {
		return missing
	}
	err := k.Copy(ctx, TrashPrefix+key, key)
	if errors.Is(err, ErrNotFound) {
		return missing
	}
	if err != nil {
		return fmt.Errorf("get %s back from the trash: %w", key, err)
	}

	return nil
}
