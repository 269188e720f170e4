package telemetry

import (
	"context"
	"errors"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// Bucket returns a bucket whose reads, writes and lists are counted. It stays a keeper: reads bring blobs back from the
// trash.
func (m *Metrics) Bucket(k store.Keeper) store.Keeper { return &bucket{k, m} }

type bucket struct {
	store.Keeper
	metrics *Metrics
}

// count counts a call that began at a time. That there is no such object is an answer, not an error.
func (b *bucket) count(ctx context.Context, operation string, began time.Time, err error) {
	b.metrics.store.WithLabelValues(operation).Observe(time.Since(began).Seconds())
	if err != nil && !errors.Is(err, store.ErrNotFound) && ctx.Err() == nil {
		b.metrics.storeErrors.WithLabelValues(operation, string(fault.KindOf(err))).Inc()
	}
}

func (b *bucket) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	began := time.Now()
	created, err := b.Keeper.PutOnce(ctx, key, body)
	b.count(ctx, "put", began, err)

	return created, err
}

func (b *bucket) Get(ctx context.Context, key string) ([]byte, error) {
	began := time.Now()
	body, err := b.Keeper.Get(ctx, key)
	b.count(ctx, "get", began, err)

	return body, err
}

func (b *bucket) List(ctx context.Context, prefix string) ([]store.Ref, error) {
	began := time.Now()
	refs, err := b.Keeper.List(ctx, prefix)
	b.count(ctx, "list", began, err)

	return refs, err
}
