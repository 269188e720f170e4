package collect

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// parallel is the number of objects that are read concurrently.
const parallel = 16

// mark finds everything that the manifests kept for their own sake refer to, directly or not.
func (c *collector) mark(ctx context.Context) error {
	c.kept = map[string]bool{}
	c.named = map[string]bool{}
	for _, name := range sorted(c.runs) {
		if err := c.retention(ctx, c.runs[name]); err != nil {
			return err
		}
	}
	c.keepShared()
	done := 0
	read := func() {
		done++
		c.progress(done, len(c.order))
	}

	return c.walk(ctx, func(key string) bool { return !c.removable(key) }, read, func(by, ref string) bool {
		if by != "" && c.passesOver(by, ref) {
			c.named[ref] = true

			return false
		}
		c.kept[ref] = true

		return true
	})
}

// walk reads the manifests that roots selects and, as long as refer returns true, the objects that they refer to. For
// references that stay in any case, it calls refer without the name of the manifest.
func (c *collector) walk(
	ctx context.Context, roots func(key string) bool, read func(), refer func(by, ref string) bool,
) error {
	seen := map[string]bool{}
	var next []string
	for _, key := range c.order {
		if !store.IsBlob(key) && !own(key) && roots(key) {
			next = append(next, key)
			seen[key] = true
		}
	}
	for len(next) > 0 {
		var mu sync.Mutex
		var found []string
		group, gctx := errgroup.WithContext(ctx)
		group.SetLimit(parallel)
		for _, key := range next {
			group.Go(func() error {
				refs, log, err := c.refs(gctx, key)
				mu.Lock()
				defer mu.Unlock()
				read()
				if log != "" {
					refer("", log)
				}
				for _, ref := range refs {
					if refer(key, ref) && !seen[ref] {
						seen[ref] = true
						found = append(found, ref)
					}
				}

				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		next = found
	}

	return nil
}

// maxArtifact exceeds the size of any list of a policy's files: only blobs up to this size can refer to others.
const maxArtifact = 1 << 20

// refs returns the references of an object and, for an update, its log, which stays when retention removes the policy.
func (c *collector) refs(ctx context.Context, key string) (refs []string, log string, err error) {
	if known, ok := c.recalled(key); ok {
		return known.Refs, known.Log, nil
	}
	raw, err := c.read(ctx, key)
	if err != nil || raw == nil {
		return nil, "", err
	}
	if refs, err = verify.Inspect(key, raw); err != nil {
		return nil, "", fault.New(fault.Corrupt, "%s: %w: nothing was removed; see `collabui fsck`", key, err)
	}
	if strings.HasSuffix(key, "/update.json") {
		var update runs.Update
		body, err := store.Unseal(key, raw)
		if err == nil && json.Unmarshal(body, &update) == nil && update.Report != nil && update.Report.Log != nil {
			log = update.Report.Log.Key
		}
	}
	c.learn(key, refs, log)

	return refs, log, nil
}

// read returns the bytes of an object in its place or in the trash, and nothing if the object is too large to refer to
// others. For an object that the LIST does not show, it returns the bytes that it finds, because fsck reports missing
// objects.
func (c *collector) read(ctx context.Context, key string) ([]byte, error) {
	aged, listed := c.objects[key]
	at := key
	if copies := c.trashed[key]; !listed && len(copies) > 0 {
		aged = copies[len(copies)-1]
		at = aged.Key
	}
	if store.IsBlob(key) && aged.Size > maxArtifact {
		return nil, nil
	}
	if store.IsBlob(key) && aged.Key == "" { // its size is unknown
		return c.beginning(ctx, key)
	}
	raw, err := c.b.Get(ctx, at)
	if errors.Is(err, store.ErrNotFound) {
		if !listed {
			return nil, nil
		}
		err = fault.New(fault.Transient, "%v, although a LIST of the store shows it: nothing was removed; begin again",
			err)
	}

	return raw, err
}

// beginning returns the bytes of a blob that the LIST does not show, if it is small.
func (c *collector) beginning(ctx context.Context, key string) (raw []byte, err error) {
	err = store.StreamBlob(ctx, c.b, strings.TrimPrefix(key, store.BlobPrefix), func(reader io.Reader) error {
		raw, err = io.ReadAll(io.LimitReader(reader, maxArtifact+1))

		return err
	})
	if errors.Is(err, store.ErrAbsent) || err == nil && len(raw) > maxArtifact {
		return nil, nil
	}

	return raw, err
}

// retention determines the epochs of a run whose policies are kept.
func (c *collector) retention(ctx context.Context, r *run) error {
	x := runs.Run(r.name)
	if _, r.ended = c.objects[x.End().Key]; !r.ended || r.dead {
		return nil
	}
	if err := c.recollect(ctx, r); err != nil {
		return err
	}
	for _, key := range r.keys {
		if parts := epochOf.FindStringSubmatch(key); parts != nil && strings.HasSuffix(key, "/epoch.json") {
			n, _ := strconv.Atoi(parts[1])
			r.committed = max(r.committed, n)
		}
	}
	r.committed = max(r.committed, r.shared.Last())
	if c.p.Epochs == 0 {
		return nil
	}
	end, _, err := x.End().Must(ctx, c.b)
	if err != nil {
		return err
	}
	r.keep = map[int]bool{end.Best: true}
	for n := r.committed; n > r.committed-c.p.Epochs; n-- {
		r.keep[n] = true
	}

	return nil
}

// passesOver reports whether retention permits removing a blob that a manifest refers to: a policy of an old epoch.
func (c *collector) passesOver(by, ref string) bool {
	parts := epochOf.FindStringSubmatch(by)
	if parts == nil || !store.IsBlob(ref) || !policies.MatchString(by) {
		return false
	}
	r := c.runs[runs.NameOf(by)]
	n, _ := strconv.Atoi(parts[1])

	return r != nil && r.keep != nil && n > 0 && !r.keep[n]
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
