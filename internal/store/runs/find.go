package runs

import (
	"context"
	"fmt"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
)

// IsSpec reports whether a key names the specification of a run.
func IsSpec(key string) bool {
	parts := strings.Split(key, "/")

	return len(parts) == 3 && strings.HasPrefix(key, AllPrefix) && parts[2] == "spec.json"
}

// Names returns the names of all runs in the store that were not deleted, in lexical order. It reads two objects of
// each run and lists no run's objects.
func Names(ctx context.Context, b store.Bucket) (names []string, err error) {
	all, err := b.Folders(ctx, AllPrefix)
	if err != nil {
		return nil, err
	}
	there := func(ctx context.Context, i int) (bool, error) {
		_, whole, err := Run(all[i]).Spec().Sure(ctx, b)
		if err != nil || !whole {
			return false, err
		}
		deleted, err := Run(all[i]).Deleted().Exists(ctx, b)

		return !deleted, err
	}
	err = store.InOrder(ctx, len(all), there, func(i int, there bool) error {
		if there {
			names = append(names, all[i])
		}

		return nil
	})

	return names, err
}

// NameOf returns the name of the run that an object belongs to, or "".
func NameOf(key string) string {
	rest, ok := strings.CutPrefix(key, AllPrefix)
	name, _, below := strings.Cut(rest, "/")
	if !ok || !below {
		return ""
	}

	return name
}

// Find returns the specification of a run. The error names the run, and wraps store.ErrNotFound if there is no such run
// or it was deleted.
func (r Run) Find(ctx context.Context, b store.Bucket) (spec.Spec, error) {
	s, there, err := r.Spec().Sure(ctx, b)
	if err == nil && !there {
		err = store.ErrNotFound
	}
	if err != nil {
		return s, r.named(err)
	}

	return s, r.Alive(ctx, b)
}

// named adds the name of the run to an error.
func (r Run) named(err error) error { return fmt.Errorf("run %q: %w", string(r), err) }

// Alive returns an error that wraps store.ErrNotFound if the run was deleted.
func (r Run) Alive(ctx context.Context, b store.Bucket) error {
	d, deleted, err := r.Deleted().Sure(ctx, b)
	if deleted {
		return fmt.Errorf("%w: %w", r.Gone(d), store.ErrNotFound)
	}

	return err
}

// Gone returns an invalid fault that names the person who deleted the run.
func (r Run) Gone(d Decision) error {
	return fault.New(fault.Invalid, "run %q was deleted by %s (%s); its name is free again after `collabui gc`",
		string(r), d.Who, d.Why)
}

// Levels is the number of levels that stage 1 can have.
const Levels = 3

// Levels returns the data sets of stage 1 that exist, by increasing level.
func (r Run) Levels(ctx context.Context, b store.Bucket) ([]LevelSet, error) {
	if _, err := r.Find(ctx, b); err != nil {
		return nil, err
	}
	var sets []LevelSet
	for level := 1; level <= Levels; level++ {
		set, written, err := r.Level(level).May(ctx, b)
		if err != nil {
			return nil, err
		}
		if written {
			sets = append(sets, set)
		}
	}

	return sets, nil
}
