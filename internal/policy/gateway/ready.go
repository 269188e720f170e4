package gateway

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/store"
)

// namePrefix begins the names of all adapters that gateways load.
const namePrefix = "p-"

// prefix begins all names of a policy in the engine.
func prefix(digest string) string { return namePrefix + digest[:16] }

// bringUp loads a policy into the engine and checks that it answers.
func (g *Gateway) bringUp(ctx context.Context, p *policy) error {
	if p.art == nil {
		artifact, err := g.artifact(ctx, p.digest)
		if err != nil {
			return err
		}
		p.art = &artifact
	}

	switch p.art.Kind {
	case domain.ArtifactFull:
		return g.findFull(ctx, p)
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

// findFull finds a policy with which the engine was started.
func (g *Gateway) findFull(ctx context.Context, p *policy) error {
	has, err := g.list(ctx)
	if err != nil {
		return err
	}

	if !slices.Contains(has.models, p.digest) {
		return httpd.Refuse(http.StatusConflict,
			"policy %s is a whole model: write it with `collabui export --policy %s --out DIR`, "+
				"and start the engine on DIR with --served-model-name %s", p.digest, p.digest, p.digest)
	}
	p.model = p.digest

	return g.probe(ctx, p.model)
}

// artifact reads the artifact of a digest and refuses one that this engine cannot serve.
func (g *Gateway) artifact(ctx context.Context, digest string) (domain.Artifact, error) {
	raw, exists, err := store.MayBlob(ctx, g.Bucket, digest)
	if err == nil && !exists { // clients repeat the request
		err = httpd.Refuse(http.StatusNotFound, "the store has no policy %s", digest)
	}
	if err != nil {
		return domain.Artifact{}, err
	}

	a, err := domain.DecodeArtifact(raw)
	if err != nil {
		return a, httpd.Refuse(http.StatusConflict, // another server may be able to serve it
			"policy %s cannot be served by an engine of language models: %w", digest, err)
	}

	if g.Model != nil && a.Kind != domain.ArtifactFull && a.Base.Digest != g.Model.Digest {
		return a, httpd.Refuse(http.StatusConflict, "policy %s belongs to the base model %s (%s), "+
			"this engine serves %s (%s): start an engine on %s, or ask one that serves it",
			digest, a.Base.Name, shorten(a.Base.Digest), g.Model.Name, shorten(g.Model.Digest), a.Base.Name)
	}

	return a, nil
}

// adapter loads a LoRA adapter. Engines cache prefixes by an adapter's name, so a name must always stand for the same
// bytes. If it is unknown what was loaded under a name, the adapter gets a new name.
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
		if err := g.renew(ctx, p); err != nil {
			return err
		}
	}

	alreadyLoaded, err := g.engineLoad(ctx, p.name, g.dir(p.digest))
	if err == nil {
		p.model = g.dialect.model(base, p.name)
		err = g.probe(ctx, p.model)
		if err != nil {
			_, failed := g.engineUnload(ctx, p.name)
			err = errors.Join(err, failed)
		}
	}

	if err != nil {
		g.mu.Lock()
		delete(g.verified, p.digest) // the next load checks the files again
		g.mu.Unlock()

		return err
	}

	if again && !alreadyLoaded {
		g.mends.Inc()
		g.Log("mended: the engine had lost policy %s; it is loaded again as %s", p.digest, p.name)
	}

	return nil
}

// renew downloads an adapter whose folder is missing or damaged.
func (g *Gateway) renew(ctx context.Context, p *policy) error {
	// Unload before the download: afterwards the files would seem to confirm what the engine holds under the name.
	wasLoaded, err := g.engineUnload(ctx, p.name)
	if err != nil {
		return err
	}
	if wasLoaded {
		g.Log("policy %s: the engine had an adapter under its name, but its files are missing: it is unloaded",
			p.digest)
		p.name = prefix(p.digest) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	}

	return g.download(ctx, p)
}
