package runs

import (
	"context"
	"fmt"
	"strings"
	"time"

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
func Names(ctx context.Context, bucket store.Bucket) (names []string, err error) {
	all, err := bucket.Folders(ctx, AllPrefix)
	if err != nil {
		return nil, err
	}
	isPresent := func(ctx context.Context, i int) (bool, error) {
		_, exists, err := Run(all[i]).Spec().Sure(ctx, bucket)
		if err != nil || !exists {
			return false, err
		}
		deleted, err := Run(all[i]).Deleted().Exists(ctx, bucket)

		return !deleted, err
	}
	err = store.InOrder(ctx, len(all), isPresent, func(i int, present bool) error {
		if present {
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
func (r Run) Find(ctx context.Context, bucket store.Bucket) (spec.Spec, error) {
	specification, exists, err := r.Spec().Sure(ctx, bucket)
	switch {
	case err != nil:
		return specification, r.named(err)
	case !exists:
		return specification, r.absent(ctx, bucket)
	}

	return specification, r.Alive(ctx, bucket)
}

// absentError is the error for a run that the store does not have.
type absentError struct{ name, similar string }

func (e absentError) Error() string {
	text := fmt.Sprintf("there is no run %q", e.name)
	if e.similar != "" {
		return text + fmt.Sprintf(": did you mean %q? `collabui runs` lists the runs", e.similar)
	}

	return text + ": `collabui runs` lists the runs"
}

func (e absentError) Unwrap() error { return store.ErrNotFound }

// absent returns an error that names the run, and the most similar run that exists, unless runs cannot be listed.
func (r Run) absent(ctx context.Context, bucket store.Bucket) error {
	names, _ := bucket.Folders(ctx, AllPrefix)

	return absentError{string(r), spec.Nearest(string(r), names)}
}

// named adds the name of the run to an error.
func (r Run) named(err error) error { return fmt.Errorf("run %q: %w", string(r), err) }

// Alive returns an error that wraps store.ErrNotFound if the run was deleted.
func (r Run) Alive(ctx context.Context, bucket store.Bucket) error {
	decision, deleted, err := r.Deleted().Sure(ctx, bucket)
	if deleted {
		return fmt.Errorf("%w: %w", r.Gone(decision), store.ErrNotFound)
	}

	return err
}

// Grace is the age at which gc removes a deleted run, unless --grace has another value.
const Grace = 24 * time.Hour

// Gone returns an invalid fault that names the person who deleted the run, and reports when its name is free.
func (r Run) Gone(decision Decision) error {
	return fault.New(fault.Invalid, "run %q was deleted by %s (%s); `collabui delete --undo %s` takes it back, and "+
		"its name is free when `collabui gc` has removed it after %s UTC", string(r), decision.Who, decision.Why,
		fault.ShellQuote(string(r)), decision.At.Add(Grace).UTC().Format(time.DateTime))
}

// Levels is the number of levels that stage 1 can have.
const Levels = 3

// Levels returns the data sets of stage 1 that exist, by increasing level.
func (r Run) Levels(ctx context.Context, bucket store.Bucket) ([]LevelSet, error) {
	if _, err := r.Find(ctx, bucket); err != nil {
		return nil, err
	}
	var sets []LevelSet
	for level := 1; level <= Levels; level++ {
		set, written, err := r.Level(level).May(ctx, bucket)
		if err != nil {
			return nil, err
		}
		if written {
			sets = append(sets, set)
		}
	}

	return sets, nil
}
