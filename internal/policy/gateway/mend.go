package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Run looks after the engine until ctx ends: every few seconds what it lost is loaded again, what nobody can vouch for is unloaded, and an engine whose
// lease ran out is woken.
func (g *Gateway) Run(ctx context.Context) {
	t := time.NewTicker(g.every)
	defer t.Stop()
	for {
		if g.take(ctx) == nil {
			g.tend(ctx)
			<-g.turn
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// take waits for the turn to put the engine to sleep, to wake it or to mend.
func (g *Gateway) take(ctx context.Context) error {
	select {
	case g.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return later("%w: the engine is being mended, put to sleep or woken", context.Cause(ctx))
	}
}

// tend has the turn.
func (g *Gateway) tend(ctx context.Context) {
	g.mu.Lock()
	asleep, over := g.asleep, time.Now().After(g.lease)
	g.mu.Unlock()
	if asleep {
		if over {
			g.Log("the lease of the sleeping engine ran out: it is woken")
			if err := g.wake(ctx); err != nil && ctx.Err() == nil {
				g.Log("%v", err)
			}
		}
		return
	}
	if g.dialect.sleeping != "" && g.foundAsleep(ctx) {
		return
	}
	g.mend(ctx)
}

// foundAsleep takes over an engine that sleeps for somebody else, as after a restart of this process: it has a first lease to renew his.
func (g *Gateway) foundAsleep(ctx context.Context) bool {
	status, text, err := g.call(ctx, askTime, http.MethodGet, g.dialect.sleeping, nil)
	var is struct {
		Sleeping bool `json:"is_sleeping"`
	}
	if err != nil || status != http.StatusOK || json.Unmarshal([]byte(text), &is) != nil || !is.Sleeping {
		return false
	}
	g.mu.Lock()
	g.closed, g.asleep, g.lease = true, true, time.Now().Add(firstLease)
	g.mu.Unlock()
	g.Log("the engine was found asleep; it is woken in %v unless somebody asks for more", firstLease)
	return true
}

// mend compares what the engine serves with what it should.
func (g *Gateway) mend(ctx context.Context) {
	models, adapters, err := g.listed(ctx)
	if ctx.Err() != nil {
		return
	}
	g.mu.Lock()
	was := g.silent
	g.silent = err != nil
	var missing []hold
	for _, p := range g.policies {
		if err == nil && p.busy == nil && !slices.Contains(models, p.model) && !slices.Contains(adapters, p.name) {
			missing = append(missing, hold{policy: p, model: p.model, gen: p.gen})
		}
	}
	g.mu.Unlock()
	if err != nil {
		if !was {
			g.Log("%v", err)
		}
		return
	}
	if was {
		g.Log("the engine answers again")
	}
	var changes []*change
	for _, h := range missing {
		if g.probe(ctx, h.model) == nil {
			continue // some engines do not list adapters
		}
		if c := g.lost(ctx, h); c != nil {
			changes = append(changes, c)
		}
	}
	for _, c := range changes {
		if err := wait(ctx, c); err != nil && ctx.Err() == nil {
			g.Log("mending: %v", err)
		}
	}
	for _, name := range adapters {
		if strings.HasPrefix(name, "p-") {
			g.stray(ctx, name)
		}
	}
	g.sweep(adapters)
}

// stray adopts an adapter of an earlier process, where its files are there and right and there is room; else it is unloaded.
func (g *Gateway) stray(ctx context.Context, name string) {
	folders := g.folders()
	g.mu.Lock()
	seated := 0
	for _, p := range g.policies {
		if p.seated {
			seated++
		}
		if strings.HasPrefix(name, prefix(p.digest)) && (p.busy != nil || p.name == name) {
			g.mu.Unlock()
			return
		}
	}
	for _, digest := range folders {
		if strings.HasPrefix(name, prefix(digest)) && g.policies[digest] == nil && seated < g.Keep {
			p := &policy{digest: digest, name: name, adopt: true}
			g.policies[digest] = p
			c := g.start(ctx, p)
			g.mu.Unlock()
			if err := wait(ctx, c); err == nil {
				g.Log("policy %s: the engine had it as %s; its files are right", digest, name)
			} else if ctx.Err() == nil {
				g.Log("%v", err)
			}
			return
		}
	}
	g.mu.Unlock()
	g.Log("the engine has the adapter %s, which this process did not load and does not need: it is unloaded", name)
	if _, err := g.engineUnload(ctx, name); err != nil && ctx.Err() == nil {
		g.Log("%v", err)
	}
}

// sweep deletes folders that nobody uses, where there are many: some are kept, because the next process may need them.
func (g *Gateway) sweep(adapters []string) {
	folders := g.folders()
	for _, digest := range folders[min(2*g.Keep, len(folders)):] {
		if slices.ContainsFunc(adapters, func(name string) bool { return strings.HasPrefix(name, prefix(digest)) }) {
			continue
		}
		g.mu.Lock()
		if g.policies[digest] != nil {
			g.mu.Unlock()
			continue
		}
		p := &policy{digest: digest}
		p.begin() // nobody loads it meanwhile
		g.policies[digest] = p
		g.mu.Unlock()
		g.remove(digest)
		g.end(p, true, nil)
	}
}
