package collect

import (
	"context"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// Limits of what may be removed at once without an explanation. Blobs that no removed manifest names are rare: an
// unused import, or a blob that a process wrote shortly before it died. More of them usually mean that the store did
// not show all objects.
const (
	fewBlobs = 10 // or a tenth of all blobs, if that is more
	fewRuns  = 2  // the same for runs that were never finished
	share    = 10
)

// explain returns an error if much more would be removed than deleted runs, ended training and retention explain.
func (c *collector) explain(ctx context.Context) error {
	c.why = map[string]bool{}
	if err := c.walk(ctx, c.isRemoved, func() {}, func(_, ref string) bool {
		c.why[ref] = true

		return !c.kept[ref]
	}); err != nil {
		return err
	}
	blobs := 0
	unfinished := 0
	for _, key := range c.order {
		if store.IsBlob(key) {
			blobs++
		}
	}
	for _, key := range c.unmarked() {
		if !c.why[key] && !c.named[key] {
			c.report.Unexplained++
		}
	}
	for _, name := range sorted(c.runs) {
		r := c.runs[name]
		if r.dead && !r.deleted && !c.needed(r) {
			unfinished++
		}
	}
	if c.p.Force || c.lock == nil {
		return nil
	}
	if n := c.report.Unexplained; n > max(fewBlobs, blobs/share) {
		return fault.New(fault.Invalid, "%d of %d blobs would go at once, and no deleted run, ended training or "+
			"retention explains it: nothing was removed. See `collabui gc --dry-run` and `collabui fsck`: the store "+
			"may not show everything that it has. --force removes them", n, blobs)
	}
	if unfinished > max(fewRuns, len(c.runs)/share) {
		return fault.New(fault.Invalid, "%d of %d runs would go at once because they have no specification: nothing "+
			"was removed. See `collabui gc --dry-run`: the store may not show everything that it has. --force removes "+
			"them", unfinished, len(c.runs))
	}

	return nil
}
