package gateway

import (
	"context"
	"os"
	"path/filepath"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/store"
)

// dir returns a policy's folder.
func (g *Gateway) dir(digest string) string { return filepath.Join(g.Adapters, digest) }

// intact reports whether an adapter's folder exists and contains the right bytes. Each process checks the hashes once.
func (g *Gateway) intact(p *policy) bool {
	_, err := os.Stat(g.dir(p.digest))

	g.mu.Lock()
	verified := g.verified[p.digest]
	g.mu.Unlock()

	if err != nil || verified {
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

// download replaces a folder that is not intact. It verifies the downloaded files.
func (g *Gateway) download(ctx context.Context, p *policy) error {
	if err := os.RemoveAll(g.dir(p.digest)); err != nil {
		return fault.As(fault.Transient, err)
	}

	err := store.GetFiles(ctx, g.Bucket, p.art.Sums(), g.dir(p.digest))

	g.mu.Lock()
	defer g.mu.Unlock()

	g.verified[p.digest] = err == nil

	return err
}

// folders returns the digests that have a folder.
func (g *Gateway) folders() []string {
	entries, err := os.ReadDir(g.Adapters)
	if err != nil {
		g.Log("%v", err)
	}

	var out []string
	for _, entry := range entries {
		if httpd.IsDigest(entry.Name()) {
			out = append(out, entry.Name())
		}
	}

	return out
}

// remove deletes a folder that the engine no longer reads.
func (g *Gateway) remove(digest string) {
	g.mu.Lock()
	delete(g.verified, digest)
	g.mu.Unlock()

	if err := os.RemoveAll(g.dir(digest)); err != nil {
		g.Log("%v", err)
	}
}
