package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Leases of a sleeping engine.
const (
	firstLease = 30 * time.Second // of an engine that was found asleep
	maxLease   = time.Hour
)

// sleep drains the engine and puts it to sleep for a lease; asked again, it renews the lease.
func (g *Gateway) sleep(w http.ResponseWriter, r *http.Request) error {
	var q struct {
		Seconds float64 `json:"lease_s"`
	}
	if err := decode(r, &q); err != nil {
		return err
	}
	lease := time.Duration(q.Seconds * float64(time.Second))
	if lease <= 0 || lease > maxLease {
		return refuse(http.StatusBadRequest, "lease_s: %v is not above 0 and up to %v seconds", q.Seconds, maxLease.Seconds())
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), g.patience, errBusy)
	defer cancel()
	if err := g.take(ctx); err != nil {
		return err
	}
	defer func() { <-g.turn }()
	g.mu.Lock()
	asleep := g.asleep
	g.mu.Unlock()
	if !asleep {
		if err := g.fallAsleep(ctx); err != nil {
			return err
		}
	}
	g.mu.Lock()
	g.lease = time.Now().Add(lease)
	g.mu.Unlock()
	reply(w, http.StatusOK, map[string]any{"asleep": true, "lease_s": q.Seconds})
	return nil
}

var errBusy = errors.New("the engine is busy")

// fallAsleep has the turn. After an error requests are admitted again, at once or when Run has woken an engine that may sleep.
func (g *Gateway) fallAsleep(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true
	for g.out > 0 {
		out, changed := g.out, g.changed
		g.mu.Unlock()
		select {
		case <-changed:
			g.mu.Lock()
		case <-ctx.Done():
			g.admit()
			return later("%w: %d requests are still under way; it stays awake", context.Cause(ctx), out)
		}
	}
	g.mu.Unlock()
	status, text, err := g.call(context.WithoutCancel(ctx), changeTime, http.MethodPost, g.dialect.sleep, map[string]any{})
	if err == nil && status == http.StatusOK {
		g.mu.Lock()
		g.asleep = true
		g.mu.Unlock()
		return nil
	}
	if err == nil && status >= 400 && status < 500 { // it did nothing
		g.admit()
		return refuse(http.StatusConflict, "the engine cannot sleep (it answered %d: %s): %s", status, short(text), g.dialect.hint)
	}
	g.mu.Lock()
	g.asleep, g.lease = true, time.Time{} // perhaps: Run wakes it
	g.mu.Unlock()
	if err == nil {
		err = unhappy("sleep", status, text)
	}
	return refuse(http.StatusServiceUnavailable, "the engine did not fall asleep: %w (%s)", err, g.dialect.hint)
}

// admit lets requests in again.
func (g *Gateway) admit() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed, g.asleep = false, false
}

// wakeUp ends the lease; awake already is success.
func (g *Gateway) wakeUp(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeoutCause(r.Context(), g.patience, errBusy)
	defer cancel()
	if err := g.take(ctx); err != nil {
		return err
	}
	defer func() { <-g.turn }()
	g.mu.Lock()
	asleep := g.asleep
	g.mu.Unlock()
	if asleep {
		if err := g.wake(context.WithoutCancel(r.Context())); err != nil {
			g.mu.Lock()
			g.lease = time.Time{} // Run tries on
			g.mu.Unlock()
			return err
		}
	}
	reply(w, http.StatusOK, map[string]any{"asleep": false})
	return nil
}

// wake has the turn. An engine without that endpoint has been restarted and cannot sleep.
func (g *Gateway) wake(ctx context.Context) error {
	status, text, err := g.call(ctx, changeTime, http.MethodPost, g.dialect.wake, map[string]any{})
	if err == nil && status != http.StatusOK && status != http.StatusNotFound {
		err = refuse(http.StatusServiceUnavailable, "the engine did not wake: it answered %d: %s", status, short(text))
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
