package collect

import (
	"context"
	"fmt"
	"strings"

	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// referring contains the references of a manifest of a run that has ended.
type referring struct {
	Size int64    `json:"size"` // of the manifest
	Refs []string `json:"refs,omitempty"`
	Log  string   `json:"log,omitempty"` // see collector.refs
}

// refsPrefix is the folder that holds the references of runs that have ended, one object per run. Their manifests never
// change, so a collection need not read them again every night.
const refsPrefix = "gc/refs/"

// refsKey names a run's object by everything that determines its content: a run of the same name, a restored run, and a
// program that finds other references get another key.
func (c *collector) refsKey(r *run) string {
	begin := c.objects[runs.Run(r.name).Spec().Key]
	end := c.objects[runs.Run(r.name).End().Key]
	follows := runs.Digest([]any{verify.ReferencesVersion, begin.Size, begin.Written, end.Size, end.Written})

	return fmt.Sprintf("%s%s/%s.json", refsPrefix, r.name, follows[:16])
}

// recollect reads the references that an earlier collection found in the manifests of a run that has ended. If there is
// no such object, the manifests are read.
func (c *collector) recollect(ctx context.Context, r *run) (err error) {
	r.found = map[string]referring{}
	if _, listed := c.objects[c.refsKey(r)]; listed {
		r.known, _, err = store.May[map[string]referring](ctx, c.b, c.refsKey(r))
	}

	return err
}

// recalled returns the references of a manifest, if an earlier collection found them.
func (c *collector) recalled(key string) (referring, bool) {
	r := c.runs[runs.NameOf(key)]
	if r == nil {
		return referring{}, false
	}
	aged, listed := c.objects[key]
	known, ok := r.known[key]

	return known, ok && listed && known.Size == aged.Size
}

// learn keeps the references of a manifest of a run that has ended.
func (c *collector) learn(key string, refs []string, log string) {
	r := c.runs[runs.NameOf(key)]
	aged, listed := c.objects[key]
	if r == nil || r.found == nil || !listed {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.found[key] = referring{Size: aged.Size, Refs: refs, Log: log}
}

// remember writes the references of the manifests of runs that have ended, and removes objects that are not needed
// again.
func (c *collector) remember(ctx context.Context) error {
	if c.lock == nil {
		return nil
	}
	current := map[string]bool{}
	for _, name := range sorted(c.runs) {
		r := c.runs[name]
		if r.found == nil {
			continue
		}
		key := c.refsKey(r)
		current[key] = true
		if r.known != nil {
			continue // objects written after the end of the run are read every time
		}
		if _, _, _, err := store.WriteOnce(ctx, c.b, key, r.found); err != nil {
			return err
		}
	}
	for _, key := range c.order {
		if strings.HasPrefix(key, refsPrefix) && !current[key] {
			if err := c.b.Delete(ctx, key); err != nil {
				return err
			}
		}
	}

	return nil
}
