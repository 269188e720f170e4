package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/collabui/collabui/internal/httpd"
)

// Leases of a sleeping engine.
const (
	firstLease = 30 * time.Second // for an engine that was found asleep
	maxLease   = time.Hour
)

var errBusy = errors.New("the engine is busy")

// sleep drains the engine and puts it to sleep for a lease. A repeated request renews the lease.
func (g *Gateway) sleep(w http.ResponseWriter, r *http.Request) error {
	var q struct {
		Seconds float64 `json:"lease_s"`
	}
	if err := decode(r, &q); err != nil {
		return err
	}

	lease := time.Duration(q.Seconds * float64(time.Second))
	if lease <= 0 || lease > maxLease {
		return httpd.Refuse(http.StatusBadRequest,
			"lease_s: expected more than 0 and at most %[2]v seconds, not %[1]v", q.Seconds, maxLease.Seconds())
	}

	ctx, cancel := context.WithTimeoutCause(r.Context(), g.draining, errBusy)
	defer cancel()

	if err := g.takeTurn(ctx); err != nil {
		return err
	}
	defer func() { <-g.turn }()

	if !g.sleeping() {
		if err := g.fallAsleep(ctx); err != nil {
			return err
		}
	}

	g.mu.Lock()
	g.lease = time.Now().Add(lease)
	g.mu.Unlock()
	httpd.WriteJSON(w, http.StatusOK, map[string]any{"asleep": true, "lease_s": q.Seconds})

	return nil
}

// sleeping reports whether the engine sleeps.
func (g *Gateway) sleeping() bool {
	g.mu.Lock()
	defer g.mu.Unlock()

	return g.asleep
}

// fallAsleep puts the engine to sleep. The caller has the turn. After an error, requests are admitted again:
// immediately or, if the engine may be asleep, after Run has woken it.
func (g *Gateway) fallAsleep(ctx context.Context) error {
	err := g.keepsWeights(ctx)
	if err == nil {
		err = g.drain(ctx)
	}
	if err != nil {
		g.admit()

		return err
	}

	r, err := g.call(context.WithoutCancel(ctx), changeTime, http.MethodPost, g.dialect.sleep, map[string]any{})
	if err == nil && r.ok() {
		g.mu.Lock()
		g.asleep = true
		g.mu.Unlock()

		return nil
	}
	if err == nil && r.refused() { // it did nothing
		g.admit()

		return httpd.Refuse(http.StatusConflict, "the engine cannot sleep (it answered %d: %s): %s",
			r.status, shorten(r.text), g.dialect.hint)
	}

	g.mu.Lock()
	g.asleep = true
	g.lease = time.Time{} // it may be asleep, so Run wakes it
	g.mu.Unlock()

	if err == nil {
		err = failure("sleep", r)
	}

	return httpd.Refuse(http.StatusServiceUnavailable, "the engine did not fall asleep: %w (%s)", err, g.dialect.hint)
}

// keepsWeights returns an error if the engine would wake with undefined weights.
func (g *Gateway) keepsWeights(ctx context.Context) error {
	if g.dialect.backup == "" {
		return nil
	}
	r, err := g.call(ctx, queryTime, http.MethodGet, g.dialect.backup, nil)
	if err != nil {
		return err
	}
	var args struct {
		Backup bool `json:"enable_weights_cpu_backup"`
	}
	if !r.ok() || json.Unmarshal([]byte(r.text), &args) != nil || !args.Backup {
		return httpd.Refuse(http.StatusConflict, "the engine must not sleep: it does not report that it keeps its "+
			"weights: %s", g.dialect.hint)
	}

	return nil
}

// drain turns new requests away and waits until those in flight have ended.
func (g *Gateway) drain(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.closed = true
	for g.inFlight > 0 {
		inFlight := g.inFlight
		changed := g.changed
		g.mu.Unlock()

		select {
		case <-changed:
			g.mu.Lock()
		case <-ctx.Done():
			g.mu.Lock()

			return httpd.Later("%w: %d requests are still in flight; it stays awake", context.Cause(ctx), inFlight)
		}
	}

	return nil
}

// admit admits requests again.
func (g *Gateway) admit() {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.closed = false
	g.asleep = false
}

// wakeUp ends the lease. Waking an engine that is already awake succeeds.
func (g *Gateway) wakeUp(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeoutCause(r.Context(), g.patience, errBusy)
	defer cancel()

	if err := g.takeTurn(ctx); err != nil {
		return err
	}
	defer func() { <-g.turn }()

	if g.sleeping() {
		if err := g.wake(context.WithoutCancel(r.Context())); err != nil {
			g.mu.Lock()
			g.lease = time.Time{} // Run keeps trying
			g.mu.Unlock()

			return err
		}
	}
	httpd.WriteJSON(w, http.StatusOK, map[string]any{"asleep": false})

	return nil
}

// wake wakes the engine. The caller has the turn. An engine without the endpoint has been restarted and cannot sleep.
func (g *Gateway) wake(ctx context.Context) error {
	r, err := g.call(ctx, changeTime, http.MethodPost, g.dialect.wake, map[string]any{})
	if err == nil && !r.ok() && r.status != http.StatusNotFound {
		err = httpd.Refuse(http.StatusServiceUnavailable,
			"the engine did not wake: it answered %d: %s", r.status, shorten(r.text))
	}
	if err != nil {
		return err
	}

	if err := g.healthy(ctx); err != nil {
		return err
	}

	g.mend(ctx)
	g.admit()

	return nil
}
