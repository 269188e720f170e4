package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/internal/httpd"
)

// Run maintains the engine until ctx ends. Every few seconds, it reloads what the engine has lost, unloads adapters of
// an earlier process, and wakes an engine whose lease has expired.
func (g *Gateway) Run(ctx context.Context) {
	ticker := time.NewTicker(g.every)
	defer ticker.Stop()

	for {
		if g.takeTurn(ctx) == nil {
			g.maintain(ctx)
			<-g.turn
		}

		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// takeTurn waits for the turn to put the engine to sleep, to wake it or to mend it.
func (g *Gateway) takeTurn(ctx context.Context) error {
	select {
	case g.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return httpd.Later("%w: the engine is being mended, put to sleep or woken", context.Cause(ctx))
	}
}

// maintain checks and mends the engine once. The caller has the turn.
func (g *Gateway) maintain(ctx context.Context) {
	g.mu.Lock()
	asleep := g.asleep
	expired := time.Now().After(g.lease)
	sleepless := g.cannotSleep
	g.mu.Unlock()

	switch {
	case asleep && expired:
		g.Log("the lease of the sleeping engine ran out: it is woken")
		if err := g.wake(ctx); err != nil && ctx.Err() == nil {
			g.Log("%v", err)
		}
	case asleep, g.dialect.sleeping != "" && !sleepless && g.adoptSleep(ctx):
	default:
		g.mend(ctx)
	}
}

// adoptSleep takes over an engine that another process put to sleep, for example before a restart of this process. It
// grants a first lease, which its owner can renew. It reports whether the engine sleeps.
func (g *Gateway) adoptSleep(ctx context.Context) bool {
	r, err := g.call(ctx, queryTime, http.MethodGet, g.dialect.sleeping, nil)
	var state struct {
		Sleeping bool `json:"is_sleeping"`
	}
	if err == nil && r.noPath() {
		g.mu.Lock()
		g.cannotSleep = true
		g.mu.Unlock()
	}
	if err != nil || !r.ok() || json.Unmarshal([]byte(r.text), &state) != nil || !state.Sleeping {
		return false
	}

	g.mu.Lock()
	g.closed = true
	g.asleep = true
	g.lease = time.Now().Add(firstLease)
	g.mu.Unlock()
	g.Log("the engine was found asleep; it is woken in %v unless its lease is renewed", firstLease)

	return true
}

// mend compares what the engine serves with what it should serve, and removes the difference.
func (g *Gateway) mend(ctx context.Context) {
	has, err := g.list(ctx)
	if ctx.Err() != nil {
		return
	}

	g.mu.Lock()
	wasUnanswered := g.unanswered
	g.unanswered = err != nil
	g.cannotSleep = g.cannotSleep && !g.unanswered // a new process may have sleep mode
	g.mu.Unlock()

	if err != nil {
		if !wasUnanswered {
			g.Log("%v", err)
		}

		return
	}
	if wasUnanswered {
		g.Log("the engine answers again")
	}

	g.reload(ctx, has)
	for _, name := range has.adapters {
		if strings.HasPrefix(name, namePrefix) {
			g.unloadStray(ctx, name)
		}
	}
	g.sweep(has.adapters)
}

// reload loads the ready policies that the engine neither lists nor answers for, and waits until they are loaded.
func (g *Gateway) reload(ctx context.Context, served listing) {
	var missing []hold
	g.mu.Lock()
	for _, p := range g.policies {
		if p.busy == nil && !slices.Contains(served.models, p.model) && !slices.Contains(served.adapters, p.name) {
			missing = append(missing, hold{policy: p, model: p.model, gen: p.gen})
		}
	}
	g.mu.Unlock()

	var changes []*change
	for _, h := range missing {
		if !errors.Is(g.probe(ctx, h.model), errMissing) {
			continue // some engines do not list adapters, and one that does not answer has not lost any
		}
		if c := g.loadAgain(ctx, h); c != nil {
			changes = append(changes, c)
		}
	}

	for _, c := range changes {
		if err := wait(ctx, c); err != nil && ctx.Err() == nil {
			g.Log("mending: %v", err)
		}
	}
}

// unloadStray unloads an adapter of an earlier process that this one does not serve. The next request for it loads it
// again, from the files that are there.
func (g *Gateway) unloadStray(ctx context.Context, name string) {
	g.mu.Lock()
	for _, p := range g.policies {
		if strings.HasPrefix(name, prefix(p.digest)) && (p.busy != nil || p.name == name) {
			g.mu.Unlock()

			return
		}
	}
	g.mu.Unlock()

	g.Log("the engine has the adapter %s, which this process did not load and does not need: it is unloaded", name)
	if _, err := g.engineUnload(ctx, name); err != nil && ctx.Err() == nil {
		g.Log("%v", err)
	}
}

// sweep deletes unused folders if there are many. It keeps some, because the next process may need them.
func (g *Gateway) sweep(adapters []string) {
	folders := g.folders()
	for _, digest := range folders[min(2*g.Keep, len(folders)):] {
		used := func(name string) bool { return strings.HasPrefix(name, prefix(digest)) }
		if slices.ContainsFunc(adapters, used) {
			continue
		}

		g.mu.Lock()
		if g.policies[digest] != nil {
			g.mu.Unlock()

			continue
		}

		p := &policy{digest: digest}
		p.begin() // so that nothing loads it in the meantime
		g.policies[digest] = p
		g.mu.Unlock()

		g.remove(digest)
		g.end(p, true, nil)
	}
}
