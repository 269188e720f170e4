package collect

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// rescue restores removed objects.
type rescue struct {
	b store.Keeper

	mu      sync.Mutex
	seen    map[string]bool // references that have been followed
	missing map[string]bool
	out     Recovery
}

func newRescue(keeper store.Keeper) *rescue {
	return &rescue{b: keeper, seen: map[string]bool{}, missing: map[string]bool{}}
}

func (r *rescue) done() Recovery {
	r.out.Missing = sorted(r.missing)
	if r.out.Missing == nil {
		r.out.Missing = []string{}
	}

	return r.out
}

// source is the place of a removed object.
type source struct {
	trash   string // key; if empty, the object is a version
	version store.Version
	size    int64
}

// all restores objects unless they are in their places.
func (r *rescue) all(ctx context.Context, from map[string]source) error {
	return each(ctx, sorted(from), func(ctx context.Context, key string) error {
		exists, _, err := r.stat(ctx, key)
		if err != nil || exists {
			return err
		}

		return r.take(ctx, key, from[key])
	})
}

// stat reports whether an object is in its place, and returns its size.
func (r *rescue) stat(ctx context.Context, key string) (bool, int64, error) {
	found, err := r.b.List(ctx, key)
	i := slices.IndexFunc(found, func(ref store.Ref) bool { return ref.Key == key })
	if err != nil || i < 0 {
		return false, 0, err
	}

	return true, found[i].Size, nil
}

// take restores an object.
func (r *rescue) take(ctx context.Context, key string, from source) error {
	tally := &r.out.Trash
	var err error
	if from.trash != "" {
		err = bringBack(ctx, r.b, key, from.trash)
	} else if versioned, ok := r.b.(store.Versioned); ok {
		tally = &r.out.Versions
		err = versioned.Revive(ctx, from.version)
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	tally.add(from.size)

	return nil
}

// follow restores the objects that objects refer to, directly or not.
func (r *rescue) follow(ctx context.Context, keys []string) error {
	retired, err := runs.Retired(ctx, r.b)
	if err != nil {
		return err
	}
	for len(keys) > 0 {
		var next []string
		err := each(ctx, keys, func(ctx context.Context, key string) error {
			refs, err := r.find(ctx, key, retired)
			r.mu.Lock()
			defer r.mu.Unlock()
			for _, ref := range refs {
				if !r.seen[ref] {
					r.seen[ref] = true
					next = append(next, ref)
				}
			}

			return err
		})
		if err != nil {
			return err
		}
		keys = next
	}

	return nil
}

// find restores an object unless it is in its place, and returns its references.
func (r *rescue) find(ctx context.Context, key string, retired map[string]bool) ([]string, error) {
	exists, size, err := r.stat(ctx, key)
	if err != nil {
		return nil, err
	}
	if !exists {
		from, found, err := r.search(ctx, key)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, r.miss(ctx, key, retired)
		}
		if err := r.take(ctx, key, from); err != nil {
			return nil, err
		}
		size = from.size
	}
	if store.IsBlob(key) && size > maxArtifact {
		return nil, nil
	}
	raw, err := r.b.Get(ctx, key)
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			err = fault.New(fault.Transient, "%v, although it was there just before: begin again", err)
		}

		return nil, err
	}
	refs, err := verify.Inspect(key, raw)
	if err != nil {
		err = fault.New(fault.Corrupt, "%s: %w: see `collabui fsck`", key, err)
	}

	return refs, err
}

// miss records that an object is missing, if a read confirms it and no retention policy has removed the object.
func (r *rescue) miss(ctx context.Context, key string, retired map[string]bool) error {
	if retired[strings.TrimPrefix(key, store.BlobPrefix)] {
		return nil
	}
	_, err := r.b.Written(ctx, key)
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.missing[key] = true

	return nil
}

// search looks for the newest copy of an object in the trash, and if there is no copy, for its newest version.
func (r *rescue) search(ctx context.Context, key string) (source, bool, error) {
	copies, err := r.b.List(ctx, store.TrashPrefix+key+"/")
	if err != nil {
		return source{}, false, err
	}
	if len(copies) > 0 {
		newest := copies[len(copies)-1]

		return source{trash: newest.Key, size: newest.Size}, true, nil
	}
	versioned, ok := r.b.(store.Versioned)
	if !ok {
		return source{}, false, nil
	}
	versions, err := versioned.Versions(ctx, key)
	for _, version := range versions {
		if version.Key == key && !version.Removed {
			return source{version: version, size: version.Size}, true, err
		}
	}

	return source{}, false, err
}
