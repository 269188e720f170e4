package gateway

import (
	"context"
	"net/http"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/httpd"
)

// policy is a policy that the engine serves or is about to serve. The gateway's mu guards all fields. While busy is
// set, only the goroutine that changes the policy may use art, name and model.
type policy struct {
	digest   string
	art      *domain.Artifact
	name     string  // the adapter's name in the engine
	model    string  // the name that requests to the engine use
	busy     *change // the load or unload in progress; nil if the policy is ready
	gen      int     // number of loads begun
	seated   bool    // whether it counts among the adapters
	inFlight int     // number of requests in flight
	used     int64   // Gateway.uses at the last use
}

// change is a load or an unload of a policy. err is set before done is closed.
type change struct {
	done chan struct{}
	err  error
}

// hold is a policy in use, which stays loaded until it is released.
type hold struct {
	*policy
	model   string
	adapter string // the adapter's name in the engine; empty for a whole model
	gen     int
}

// wait waits for the end of a change and returns its error. A nil change has ended successfully.
func wait(ctx context.Context, c *change) error {
	if c == nil {
		return nil
	}

	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin makes p busy. Callers hold mu.
func (p *policy) begin() *change {
	p.busy = &change{done: make(chan struct{})}

	return p.busy
}

// end makes p ready again or, if gone is set, removes it, and wakes all goroutines that wait for it.
func (g *Gateway) end(p *policy, gone bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()

	c := p.busy
	c.err = err
	p.busy = nil
	if gone {
		delete(g.policies, p.digest)
	}
	close(c.done)
	g.notify()
}

// notify wakes all goroutines that wait for room or for requests to end. Callers hold mu.
func (g *Gateway) notify() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// enter admits a request, which ends with leave.
func (g *Gateway) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()

	if g.closed {
		return httpd.Later("the engine sleeps, or is about to")
	}
	g.inFlight++

	return nil
}

func (g *Gateway) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.inFlight--
	g.notify()
}

// acquire returns the policy of a digest, which is loaded and answers. It loads the policy if necessary. Concurrent
// callers wait for the same load.
func (g *Gateway) acquire(ctx context.Context, digest string) (hold, error) {
	if !httpd.IsDigest(digest) {
		return hold{}, httpd.Refuse(http.StatusNotFound,
			"model %q: a model name is the 64 hex digits of a policy's SHA-256", shorten(digest))
	}

	for {
		g.mu.Lock()
		p := g.policies[digest]
		if p == nil {
			p = &policy{digest: digest}
			g.policies[digest] = p
			g.start(ctx, p)
		}

		c := p.busy
		if c == nil {
			g.uses++
			p.inFlight++
			p.used = g.uses
			h := hold{policy: p, model: p.model, adapter: p.name, gen: p.gen}
			g.mu.Unlock()

			return h, nil
		}
		g.mu.Unlock()

		if err := wait(ctx, c); err != nil {
			return hold{}, err
		}
	}
}

func (g *Gateway) release(h hold) {
	g.mu.Lock()
	defer g.mu.Unlock()

	h.inFlight--
	g.notify()
}

// start loads p in the background. The load continues if ctx ends. Callers hold mu.
func (g *Gateway) start(ctx context.Context, p *policy) *change {
	c := p.begin()
	p.gen++
	g.inFlight++

	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.loading)
		defer cancel()

		err := g.bringUp(ctx, p)
		g.mu.Lock()
		g.uses++
		p.used = g.uses // the requests that wait for it have not used it yet
		g.mu.Unlock()
		g.end(p, err != nil, err)
		g.leave()
	}()

	return c
}

// loadAgain is called if the engine did not have a policy that was held. It loads the policy again and returns that
// change, or nil if a load has begun since the policy was acquired.
func (g *Gateway) loadAgain(ctx context.Context, h hold) *change {
	g.mu.Lock()
	defer g.mu.Unlock()

	if h.busy != nil || h.policy.gen != h.gen || g.policies[h.digest] != h.policy {
		return nil
	}

	return g.start(ctx, h.policy)
}
