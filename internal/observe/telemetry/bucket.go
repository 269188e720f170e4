package telemetry

import (
	"context"
	"errors"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// Store counts a finished operation on the object store. An object that does not exist does not count as an error.
func (m *Metrics) Store(ctx context.Context, operation string, began time.Time, err error) {
	m.store.WithLabelValues(operation).Observe(time.Since(began).Seconds())
	if err != nil && !errors.Is(err, store.ErrNotFound) && ctx.Err() == nil {
		m.storeErrors.WithLabelValues(operation, string(fault.KindOf(err))).Inc()
	}
}
