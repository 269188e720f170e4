package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
)

// IsSpec reports whether a key is that of the specification of a run.
func IsSpec(key string) bool {
	parts := strings.Split(key, "/")

	return len(parts) == 3 && strings.HasPrefix(key, allRuns) && parts[2] == "spec.json"
}

// Names returns the names of all runs in the store, in lexical order.
func Names(ctx context.Context, b store.Bucket) ([]string, error) {
	objects, err := b.List(ctx, allRuns)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, o := range objects {
		if IsSpec(o.Key) {
			names = append(names, strings.Split(o.Key, "/")[1])
		}
	}

	return names, nil
}

// Find returns the specification of a run. The error names the run, and wraps store.ErrNotFound if there is no such
// run.
func (r Run) Find(ctx context.Context, b store.Bucket) (spec.Spec, error) {
	s, _, err := r.Spec().Read(ctx, b)
	if err != nil {
		return s, fmt.Errorf("run %q: %w", string(r), err)
	}

	return s, nil
}

// Levels is the number of levels that stage 1 can have.
const Levels = 3

// Levels returns the data sets of stage 1 that were written, by increasing level.
func (r Run) Levels(ctx context.Context, b store.Bucket) ([]LevelSet, error) {
	if _, err := r.Find(ctx, b); err != nil {
		return nil, err
	}
	var sets []LevelSet
	for level := 1; level <= Levels; level++ {
		set, _, err := r.Level(level).Read(ctx, b)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}

	return sets, nil
}
