package testrun

import (
	"context"
	"sync/atomic"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// Brittle is a bucket that fails every write after a number of them.
type Brittle struct {
	store.Bucket
	Left int // writes that still succeed

	done atomic.Int64
}

// PutOnce writes an object as long as Left is positive.
func (b *Brittle) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	if b.done.Add(1) > int64(b.Left) {
		return false, fault.New(fault.Transient, "the network is down")
	}

	return b.Bucket.PutOnce(ctx, key, body)
}
