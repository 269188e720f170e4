package gateway

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// dir is a policy's folder.
func (g *Gateway) dir(digest string) string { return filepath.Join(g.Adapters, digest) }

// intact says that an adapter's folder is there and right; its hashes are looked at once per process.
func (g *Gateway) intact(p *policy) bool {
	_, err := os.Stat(g.dir(p.digest))
	g.mu.Lock()
	known := g.verified[p.digest]
	g.mu.Unlock()
	if err != nil || known {
		return err == nil
	}
	if err := store.CheckFiles(g.dir(p.digest), p.art.Sums()); err != nil {
		g.Log("policy %s: %v", p.digest, err)
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.verified[p.digest] = true
	return true
}

// download puts a new folder in the place of one that is not intact.
func (g *Gateway) download(ctx context.Context, p *policy) error {
	if err := os.RemoveAll(g.dir(p.digest)); err != nil {
		return fault.As(fault.Transient, err)
	}
	err := store.GetFiles(ctx, g.Bucket, p.art.Sums(), g.dir(p.digest)) // which verifies
	if errors.Is(err, store.ErrNotFound) {
		return refuse(http.StatusConflict, "policy %s is in the store, a file of it is not: %w", p.digest, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.verified[p.digest] = err == nil
	return err
}

// folders are the digests that have one.
func (g *Gateway) folders() []string {
	entries, err := os.ReadDir(g.Adapters)
	if err != nil {
		g.Log("%v", err)
	}
	var out []string
	for _, e := range entries {
		if digestForm.MatchString(e.Name()) {
			out = append(out, e.Name())
		}
	}
	return out
}

// remove deletes a folder that the engine does not read any more.
func (g *Gateway) remove(digest string) {
	g.mu.Lock()
	delete(g.verified, digest)
	g.mu.Unlock()
	if err := os.RemoveAll(g.dir(digest)); err != nil {
		g.Log("%v", err)
	}
}
