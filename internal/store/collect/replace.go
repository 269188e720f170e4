package collect

import (
	"context"
	"slices"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// Unused returns the keys of a run that has produced nothing: it holds what its start recorded and what people asked
// of it, but no episode, demonstration, call or policy. It is false for every other run, forks among them.
func Unused(ctx context.Context, b store.Bucket, name runs.Run) ([]string, bool, error) {
	prefix := name.Prefix()
	if produced, err := hasProduced(ctx, b, prefix); err != nil || produced {
		return nil, false, err
	}
	all, err := b.List(ctx, prefix)
	if err != nil {
		return nil, false, err
	}
	var keys []string
	for _, o := range all {
		key := strings.TrimPrefix(o.Key, prefix)
		started := key == "spec.json" || strings.HasPrefix(key, "changes/") ||
			strings.HasPrefix(key, "claims/") || strings.HasPrefix(key, "epochs/0000/")
		if !started {
			return nil, false, nil
		}
		keys = append(keys, o.Key)
	}

	return keys, len(keys) > 0, nil
}

// hasProduced reports whether a run has folders that a start does not make. It spares a list of all that is in them.
func hasProduced(ctx context.Context, b store.Bucket, prefix string) (bool, error) {
	for below, started := range map[string][]string{"": {"changes", "claims", "epochs"}, "epochs/": {"0000"}} {
		folders, err := b.Folders(ctx, prefix+below)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(folders, func(name string) bool { return !slices.Contains(started, name) }) {
			return true, nil
		}
	}

	return false, nil
}

// CutShort reports whether a name has objects, but no run: a fork or a copy was not finished.
func CutShort(ctx context.Context, b store.Bucket, name runs.Run) (bool, error) {
	whole, err := name.Spec().Exists(ctx, b)
	if err != nil || whole {
		return false, err
	}
	all, err := b.List(ctx, name.Prefix())
	if err != nil || len(all) == 0 {
		return false, err
	}
	_, unused, err := Unused(ctx, b, name) // what Forget left when it was cut short

	return !unused, err
}

// Forget removes a run that has produced nothing, so that its name is free. end ends its workflow. It is an invalid
// fault if the run has produced something meanwhile. It may be repeated.
func Forget(ctx context.Context, b store.Keeper, name runs.Run, end func() error) error {
	if err := end(); err != nil {
		return err
	}
	keys, unused, err := Unused(ctx, b, name)
	if err != nil {
		return err
	}
	if !unused {
		return fault.New(fault.Invalid, "run %s has produced something: choose another name", name)
	}
	spec := name.Spec().Key
	for _, key := range keys {
		if key == spec {
			continue
		}
		if err := b.Delete(ctx, key); err != nil {
			return err
		}
	}

	return b.Delete(ctx, spec) // last: with it the run exists
}
