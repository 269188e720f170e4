package collect

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/internal/store/verify"
)

// parallel is the number of objects that are read concurrently.
const parallel = 16

// mark finds what is referred to, directly or not, from all manifests that are kept for their own sake.
func (c *collector) mark(ctx context.Context) error {
	c.kept, c.named, c.seen = map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range c.runs {
		if err := c.retention(ctx, r); err != nil {
			return err
		}
	}
	var next []string
	for _, key := range c.order {
		if !store.IsBlob(key) && !c.removable(key) {
			next = append(next, key)
			c.seen[key] = true
		}
	}
	done := 0
	for len(next) > 0 {
		found, err := c.read(ctx, next, func() { done++; c.progress(done, len(c.order)) })
		if err != nil {
			return err
		}
		next = found
	}

	return nil
}

// read reads objects and returns those that they refer to and that nothing referred to before.
func (c *collector) read(ctx context.Context, keys []string, one func()) ([]string, error) {
	var mu sync.Mutex
	var found []string
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, key := range keys {
		g.Go(func() error {
			refs, log, err := c.refs(ctx, key)
			mu.Lock()
			defer mu.Unlock()
			one()
			c.kept[log] = true
			for _, ref := range refs {
				if c.passesOver(key, ref) {
					c.named[ref] = true
				} else if c.kept[ref] = true; !c.seen[ref] {
					c.seen[ref] = true
					found = append(found, ref)
				}
			}

			return err
		})
	}

	return found, g.Wait()
}

// maxArtifact is more than the list of a policy's files takes: only blobs up to this size can refer to others.
const maxArtifact = 1 << 20

// refs returns what an object refers to, and of an update the log, which stays when retention lets go of the policy.
func (c *collector) refs(ctx context.Context, key string) (refs []string, log string, err error) {
	o, at := c.objects[key], key
	if _, there := c.objects[key]; !there && store.IsBlob(key) {
		o, at = c.trashed[key], store.TrashPrefix+key
	}
	if store.IsBlob(key) && o.Size > maxArtifact {
		return nil, "", nil
	}
	raw, err := c.b.Get(ctx, at)
	if errors.Is(err, store.ErrNotFound) { // fsck says what is missing; here it refers to nothing
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	if refs, err = verify.Inspect(key, raw); err != nil {
		return nil, "", fault.New(fault.Corrupt, "%s: %w: nothing was removed; see `collabui fsck`", key, err)
	}
	if strings.HasSuffix(key, "/update.json") {
		var u runs.Update
		body, err := store.Unseal(key, raw)
		if err == nil && json.Unmarshal(body, &u) == nil && u.Report != nil && u.Report.Log != nil {
			log = u.Report.Log.Key
		}
	}

	return refs, log, nil
}

// retention finds the epochs of a run whose policies are kept.
func (c *collector) retention(ctx context.Context, r *run) error {
	x := runs.Run(r.name)
	if _, r.ended = c.objects[x.End().Key]; !r.ended || r.dead {
		return nil
	}
	for _, key := range r.keys {
		if m := epochOf.FindStringSubmatch(key); m != nil && strings.HasSuffix(key, "/epoch.json") {
			n, _ := strconv.Atoi(m[1])
			r.committed = max(r.committed, n)
		}
	}
	if c.p.Epochs == 0 {
		return nil
	}
	end, _, err := x.End().Read(ctx, c.b)
	if err != nil {
		return err
	}
	r.keep = map[int]bool{end.Best: true}
	for n := r.committed; n > r.committed-c.p.Epochs; n-- {
		r.keep[n] = true
	}

	return nil
}

// What an object belongs to, by its key.
var (
	epochOf    = regexp.MustCompile(`^runs/[^/]+/epochs/(\d+)/`)
	policies   = regexp.MustCompile(`/(agents/\d+/(update|imitation)|epoch|slots)\.json$`)
	checkpoint = regexp.MustCompile(
		`^(runs/[^/]+/)(finetune|epochs/\d+)/.*-checkpoint-(\d+|result(-\d+)?|memory-\d+)\.json$`)
)

// passesOver reports whether retention lets go of a blob that a manifest refers to: a policy of an old epoch.
func (c *collector) passesOver(by, ref string) bool {
	m := epochOf.FindStringSubmatch(by)
	if m == nil || !store.IsBlob(ref) || !policies.MatchString(by) {
		return false
	}
	r := c.runs[runs.NameOf(by)]
	n, _ := strconv.Atoi(m[1])

	return r != nil && r.keep != nil && n > 0 && !r.keep[n]
}

// removable reports whether a manifest is not kept for its own sake: of a dead run, what a trainer recorded in training
// that has ended, or an old call of a run that has ended.
func (c *collector) removable(key string) bool {
	r := c.runs[runs.NameOf(key)]
	if r == nil {
		return false
	}
	x := runs.Run(r.name)
	if r.dead {
		return true
	}
	if m := checkpoint.FindStringSubmatch(key); m != nil {
		end := m[1] + "base.json"
		if m[2] != "finetune" {
			end = m[1] + m[2] + "/epoch.json"
		}
		_, ended := c.objects[end]

		return ended && c.old(key)
	}

	return c.p.Calls > 0 && r.ended && strings.HasPrefix(key, x.CallsPrefix()) &&
		c.now.Sub(c.objects[key].Written) > c.p.Calls
}

// last are the objects of a dead run that are removed when all others are gone.
func last(r *run) []string {
	x := runs.Run(r.name)

	return []string{x.Origin().Key, x.Spec().Key, x.Deleted().Key}
}

// needed reports whether something else refers to an object of a dead run.
func (c *collector) needed(r *run) bool {
	return slices.ContainsFunc(r.keys, func(key string) bool {
		return c.kept[key] && !slices.Contains(last(r), key)
	})
}
