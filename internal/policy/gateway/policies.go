package gateway

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/store"
)

// policy is one that the engine serves, or is about to. All fields are guarded by the gateway's mu; while busy is set, art, name and model belong to who changes it.
type policy struct {
	digest string
	art    *domain.Artifact
	name   string  // the adapter's, in the engine
	model  string  // what requests call it
	busy   *change // being loaded or unloaded; nil: ready
	gen    int     // loads begun
	adopt  bool    // found in the engine, not asked for
	seated bool    // counts among the adapters
	out    int     // requests under way
	used   int64   // last use
}

// change of a policy; err is set before done is closed.
type change struct {
	done chan struct{}
	err  error
}

// hold is a policy in use: it stays loaded until it is released.
type hold struct {
	*policy
	model string
	gen   int
}

// wait gives how a change ended; nil is none.
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

// end lets those go on who wait for p: it is ready again, or gone.
func (g *Gateway) end(p *policy, gone bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := p.busy
	c.err, p.busy = err, nil
	if gone {
		delete(g.policies, p.digest)
	}
	close(c.done)
	g.notify()
}

// notify wakes who waits for room or for silence. Callers hold mu.
func (g *Gateway) notify() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// enter admits a request; leave ends it.
func (g *Gateway) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return later("the engine sleeps, or is about to")
	}
	g.out++
	return nil
}

func (g *Gateway) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.out--
	g.notify()
}

// acquire gives a policy that is loaded and answers, and loads it where it is not; all who want it at once wait for one load.
func (g *Gateway) acquire(ctx context.Context, digest string) (hold, error) {
	if !digestForm.MatchString(digest) {
		return hold{}, refuse(http.StatusNotFound, "model %q: a model name is the 64 hex digits of a policy's SHA-256", short(digest))
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
			p.out++
			p.used = g.uses
			h := hold{policy: p, model: p.model, gen: p.gen}
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
	h.out--
	g.notify()
}

// start loads p, whoever stops waiting for it. Callers hold mu.
func (g *Gateway) start(ctx context.Context, p *policy) *change {
	c := p.begin()
	p.gen++
	g.out++
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.loading)
		defer cancel()
		err := g.ready(ctx, p)
		if status, _ := statusOf(err); err != nil && p.adopt && status != http.StatusServiceUnavailable {
			_, failed := g.engineUnload(ctx, p.name) // nobody asked for it and nobody can vouch for it
			err = errors.Join(err, failed)
		}
		p.adopt = false
		g.end(p, err != nil, err)
		g.leave()
	}()
	return c
}

// lost says that the engine did not have a policy that was held; it is loaded again unless somebody was faster.
func (g *Gateway) lost(ctx context.Context, h hold) *change {
	g.mu.Lock()
	defer g.mu.Unlock()
	if h.busy != nil || h.policy.gen != h.gen || g.policies[h.digest] != h.policy {
		return nil
	}
	return g.start(ctx, h.policy)
}

// ready brings a policy into the engine and proves that it answers.
func (g *Gateway) ready(ctx context.Context, p *policy) error {
	if p.art == nil {
		a, err := g.artifact(ctx, p.digest)
		if err != nil {
			return err
		}
		p.art = &a
	}
	switch p.art.Kind {
	case domain.ArtifactFull:
		models, _, err := g.listed(ctx)
		if err != nil {
			return err
		}
		for _, m := range models {
			if m == p.digest {
				p.model = m
				return g.probe(ctx, m)
			}
		}
		return refuse(http.StatusConflict, "policy %s has all parameters of its own: write it with `collabui export --policy %s --out DIR`, and start the engine on DIR with --served-model-name %s", p.digest, p.digest, p.digest)
	case domain.ArtifactBase:
		base, err := g.base(ctx)
		if err != nil {
			return err
		}
		p.model = base
		return g.probe(ctx, base)
	}
	return g.adapter(ctx, p)
}

// artifact reads what a digest names, and refuses what this engine cannot serve.
func (g *Gateway) artifact(ctx context.Context, digest string) (domain.Artifact, error) {
	raw, err := store.GetBlob(ctx, g.Bucket, digest)
	if err != nil {
		return domain.Artifact{}, err
	}
	a, err := domain.DecodeArtifact(raw)
	if err != nil {
		return a, refuse(http.StatusBadRequest, "policy %s cannot be served by an engine of language models: %w", digest, err)
	}
	if g.Model != nil && a.Kind != domain.ArtifactFull && a.Base.Digest != g.Model.Digest {
		return a, refuse(http.StatusConflict, "policy %s belongs to the base model %s (%s), this engine serves %s (%s): start an engine on %s, or ask one that serves it",
			digest, a.Base.Name, short(a.Base.Digest), g.Model.Name, short(g.Model.Digest), a.Base.Name)
	}
	return a, nil
}

// adapter loads a LoRA adapter. Its name in the engine stands for its bytes for ever: where it is not known what was loaded under it, another one is taken,
// because engines keep prefixes by name.
func (g *Gateway) adapter(ctx context.Context, p *policy) error {
	again := p.gen > 1
	if p.name == "" {
		p.name = prefix(p.digest)
	}
	base, err := g.base(ctx)
	if err != nil {
		return err
	}
	if err := g.seat(ctx, p); err != nil {
		return err
	}
	if !g.intact(p) {
		if p.adopt {
			return refuse(http.StatusConflict, "policy %s: the engine has it, but its files are not there to vouch for it", p.digest)
		}
		was, err := g.engineUnload(ctx, p.name) // before there are files that seem to vouch for it
		if err != nil {
			return err
		}
		if was {
			g.Log("policy %s: the engine had an adapter under its name, without files to vouch for it: it is unloaded", p.digest)
			p.name = prefix(p.digest) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
		}
		if err := g.download(ctx, p); err != nil {
			return err
		}
	}
	there, err := g.engineLoad(ctx, p.name, g.dir(p.digest))
	if err == nil {
		p.model = g.dialect.model(base, p.name)
		if err = g.probe(ctx, p.model); err != nil {
			_, failed := g.engineUnload(ctx, p.name)
			err = errors.Join(err, failed)
		}
	}
	mended := err == nil && again && !there
	g.mu.Lock()
	if err != nil {
		delete(g.verified, p.digest) // the next load looks at the files
	}
	if mended {
		g.mends++
	}
	g.mu.Unlock()
	if mended {
		g.Log("mended: the engine had lost policy %s; it is loaded again as %s", p.digest, p.name)
	}
	return err
}

// prefix begins all names that a policy has in the engine.
func prefix(digest string) string { return "p-" + digest[:16] }

// seat waits until p may be loaded beside the others: the least recently used adapter goes, idle ones first, when it has drained.
func (g *Gateway) seat(ctx context.Context, p *policy) error {
	ctx, cancel := context.WithTimeoutCause(ctx, g.patience, errNoRoom)
	defer cancel()
	for {
		g.mu.Lock()
		seated := 0
		var last *policy
		for _, q := range g.policies {
			if !q.seated {
				continue
			}
			seated++
			if q.busy == nil && (last == nil || (q.out > 0) == (last.out > 0) && q.used < last.used || q.out == 0 && last.out > 0) {
				last = q
			}
		}
		if p.seated || seated < g.Keep {
			p.seated = true
			g.mu.Unlock()
			return nil
		}
		changed := g.changed
		if last != nil {
			last.begin()
		}
		g.mu.Unlock()
		if last != nil {
			if err := g.evict(ctx, last); err != nil {
				return err
			}
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return later("%w: all %d adapters are busy", context.Cause(ctx), g.Keep)
		}
	}
}

var errNoRoom = errors.New("no room for another adapter")

// evict unloads a policy that its caller made busy, when its requests have drained. Where that takes too long it is ready again.
func (g *Gateway) evict(ctx context.Context, p *policy) error {
	ctx, cancel := context.WithTimeoutCause(ctx, g.patience, errNoRoom)
	defer cancel()
	for {
		g.mu.Lock()
		out, changed := p.out, g.changed
		g.mu.Unlock()
		if out == 0 {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			g.end(p, false, nil)
			return later("%w: policy %s still has %d requests", context.Cause(ctx), p.digest, out)
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
