package transfer

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// relist lists the runs once more, and copies objects that were not listed before, because a list may be incomplete.
func (t *transfer) relist(ctx context.Context) error {
	for _, name := range t.report.Runs {
		run := runs.Run(name)
		keys, err := store.Keys(ctx, t.from, run.Prefix())
		if err != nil {
			return err
		}
		for _, key := range keys {
			if key != run.Spec().Key && !runs.IsLocal(key) {
				t.found(key)
			}
		}
	}

	return t.all(ctx)
}

// ends copies the objects that end stages, one after the other, in the order in which runs write them. A copy that is
// cut short therefore never has a commit without the objects that the commit names, even if the other side had half a
// copy of another state of the run.
func (t *transfer) ends(ctx context.Context) error {
	t.mu.Lock()
	keys := t.last
	t.last = nil
	t.mu.Unlock()
	order := func(key string) int {
		if key == runs.Run(runs.NameOf(key)).End().Key {
			return 1 // last of all
		}

		return 0
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(order(a)-order(b), cmp.Compare(a, b)) })

	for _, key := range keys {
		t.mu.Lock()
		t.queue = append(t.queue, key)
		t.mu.Unlock()
		if err := t.all(ctx); err != nil {
			return err
		}
	}

	return nil
}

// rounds is how often complete checks.
const rounds = 5

// complete copies again the manifests that the other side had and lacks now: a collection may have removed them while
// this process was slow.
func (t *transfer) complete(ctx context.Context) error {
	for range rounds {
		lacks, err := t.lacks(ctx)
		if err != nil || len(lacks) == 0 {
			return err
		}
		t.mu.Lock()
		t.queue = append(t.queue, lacks...)
		t.mu.Unlock()
		if err := t.all(ctx); err != nil {
			return err
		}
	}

	return fault.New(fault.Transient, "the other store does not show what was written to it: begin again")
}

// lacks returns the manifests that a list of the other side does not show, although it had them.
func (t *transfer) lacks(ctx context.Context) (lacks []string, err error) {
	names := map[string]bool{}
	for _, name := range t.report.Runs {
		names[name] = true
	}
	for key := range t.had {
		names[runs.NameOf(key)] = true
	}
	delete(names, "")
	listed := map[string]bool{}
	for name := range names {
		keys, err := store.Keys(ctx, t.to, runs.Run(name).Prefix())
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			listed[key] = true
		}
	}
	for key := range t.had {
		if names[runs.NameOf(key)] && !listed[key] {
			lacks = append(lacks, key)
		}
	}
	slices.Sort(lacks)
	t.present = listed

	return lacks, nil
}

// leftovers returns an error for a run if the other side has manifests that this side lacks, without the objects that
// they name: an interrupted copy left them before this side was reset to an earlier state. Recorded calls name no
// objects.
func (t *transfer) leftovers(ctx context.Context) error {
	for _, key := range slices.Sorted(maps.Keys(t.present)) {
		if t.known[key] || runs.IsLocal(key) || runs.IsSpec(key) ||
			strings.HasPrefix(key, runs.Run(runs.NameOf(key)).CallsPrefix()) {
			continue
		}
		lacks, err := t.leftover(ctx, key)
		if err == nil && lacks != "" {
			err = t.refuse(fault.New(fault.Invalid, "the other store has %s of another state of the run, and lacks "+
				"%s, which that names: if the run is listed there, delete it; let `collabui gc` remove its objects "+
				"there, and copy the run again", key, lacks))
		}
		if err != nil {
			return err
		}
	}

	return nil
}

// leftover returns an object that a manifest of the other side names and the other side lacks.
func (t *transfer) leftover(ctx context.Context, key string) (lacks string, err error) {
	raw, err := t.to.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil // removed meanwhile
	}
	if err != nil {
		return "", err
	}
	refs, err := verify.Inspect(key, raw)
	if err != nil {
		return "", fault.New(fault.Corrupt, "%s of the other store: %w: see `collabui fsck` there", key, err)
	}
	for _, ref := range refs {
		switch sum, blob := strings.CutPrefix(ref, store.BlobPrefix); {
		case blob && t.retired[sum]:
		case blob: // a checkpoint may have gigabytes: read only if a list does not show it
			var listed []string
			if listed, err = store.Keys(ctx, t.to, ref); err == nil && len(listed) == 0 {
				err = t.follow(ctx, t.to, ref)
			}
		default:
			_, err = t.to.Get(ctx, ref)
		}
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrAbsent) {
			return ref, nil
		}
		if err != nil {
			return "", err
		}
	}

	return "", nil
}
