package store

import (
	"context"
	"crypto/rand"
	"time"
)

// Identity distinguishes a store from every other, including copies of its objects. Only a clone of a whole bucket has
// the identity of its original.
type Identity struct {
	ID string    `json:"id"` // random
	At time.Time `json:"at"` // when the store was first used
}

// identityKey is the key of the identity. Copies leave it out.
const identityKey = "store.json"

// Identify returns the identity of a store. The first call creates the identity. It may be repeated, and run
// concurrently.
func Identify(ctx context.Context, bucket Bucket) (Identity, error) {
	identity, _, err := RecordOnce(ctx, bucket, identityKey, func() (Identity, error) {
		return Identity{ID: rand.Text(), At: time.Now().UTC()}, nil
	})

	return identity, err
}
