package gateway

import (
	"context"
	"errors"

	"github.com/collabui/collabui/internal/httpd"
)

var errNoRoom = errors.New("no room for another adapter")

// seat waits until p may be loaded next to the other adapters. To make room, it evicts the least recently used adapter,
// idle ones first, after its requests have ended.
func (g *Gateway) seat(ctx context.Context, p *policy) error {
	ctx, cancel := context.WithTimeoutCause(ctx, g.patience, errNoRoom)
	defer cancel()

	for {
		g.mu.Lock()
		seated, victim := g.countSeats()
		if p.seated || seated < g.Keep {
			p.seated = true
			g.mu.Unlock()

			return nil
		}

		changed := g.changed
		if victim != nil {
			victim.begin()
		}
		g.mu.Unlock()

		if victim != nil {
			if err := g.evict(ctx, victim); err != nil {
				return err
			}

			continue
		}

		select {
		case <-changed:
		case <-ctx.Done():
			return httpd.Later("%w: all %d adapters are busy", context.Cause(ctx), g.Keep)
		}
	}
}

// countSeats counts the adapters and returns the ready one that is evicted next, or nil if all are busy. Callers hold
// mu.
func (g *Gateway) countSeats() (n int, victim *policy) {
	for _, q := range g.policies {
		if !q.seated {
			continue
		}
		n++

		if q.busy == nil && (victim == nil || q.evictedBefore(victim)) {
			victim = q
		}
	}

	return n, victim
}

// evictedBefore reports whether p is evicted before q: idle policies before used ones, then the one whose last use is
// older.
func (p *policy) evictedBefore(q *policy) bool {
	if idle := p.inFlight == 0; idle != (q.inFlight == 0) {
		return idle
	}

	return p.used < q.used
}

// evict unloads a policy that its caller made busy, after its requests have ended. If that takes too long, the policy
// becomes ready again and the error is a 503.
func (g *Gateway) evict(ctx context.Context, p *policy) error {
	ctx, cancel := context.WithTimeoutCause(ctx, g.patience, errNoRoom)
	defer cancel()

	for {
		g.mu.Lock()
		inFlight := p.inFlight
		changed := g.changed
		g.mu.Unlock()

		if inFlight == 0 {
			break
		}

		select {
		case <-changed:
		case <-ctx.Done():
			g.end(p, false, nil)

			return httpd.Later("%w: policy %s still has %d requests", context.Cause(ctx), p.digest, inFlight)
		}
	}

	if p.name != "" {
		if _, err := g.engineUnload(ctx, p.name); err != nil {
			g.end(p, false, nil)

			return err
		}
		g.remove(p.digest)
	}
	g.end(p, true, nil)

	return nil
}
