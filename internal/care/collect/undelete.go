package collect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/hold"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Recovery lists the restored objects.
type Recovery struct {
	Trash    Tally    `json:"from_trash"`
	Versions Tally    `json:"from_versions"` // from versions of the bucket
	Missing  []string `json:"missing"`       // objects of which no copy or version is left
}

// Undelete restores a deleted run and the objects that it refers to, from the trash and, if the bucket keeps versions,
// from these. It returns an invalid fault if a run of the name exists or if a collection is at work. The error wraps
// store.ErrNotFound if nothing is left of a deleted run. It may be repeated, and continues where it was cut short.
func Undelete(ctx context.Context, b store.Keeper, name runs.Run, d runs.Decision) (Recovery, error) {
	r := newRescue(b)
	err := hold.Do(ctx, b, d.Who, func(ctx context.Context, _ *hold.Lock) error { return r.undelete(ctx, name, d) })

	return r.done(), err
}

// Recover takes back the objects that an existing run lacks or, without a name, the objects with these keys, and
// everything that they refer to. It may be repeated.
func Recover(ctx context.Context, keeper store.Keeper, who string, name runs.Run, keys []string) (Recovery, error) {
	r := newRescue(keeper)
	err := hold.Do(ctx, keeper, who, func(ctx context.Context, _ *hold.Lock) error {
		if name != "" {
			removed, err := r.removed(ctx, name, true)
			if err != nil {
				return err
			}
			if err := r.all(ctx, removed); err != nil {
				return err
			}
			if keys, err = store.Keys(ctx, keeper, name.Prefix()); err != nil {
				return err
			}
		}

		return r.follow(ctx, keys)
	})

	return r.done(), err
}

// undelete takes a run back. The mark stays until the run is whole, so that no process uses the run or takes its name.
func (r *rescue) undelete(ctx context.Context, name runs.Run, decision runs.Decision) error {
	spec := name.Spec().Key
	marked := name.Deleted()
	exists, err := name.Spec().Exists(ctx, r.b)
	if err != nil {
		return err
	}
	deleted, err := marked.Exists(ctx, r.b)
	if err != nil {
		return err
	}
	if exists && !deleted {
		return errTaken(name)
	}
	removed, err := r.removed(ctx, name, exists)
	if err != nil {
		return err
	}
	source, found := removed[spec]
	if !exists && !found {
		return fmt.Errorf("run %q: neither the trash nor the versions of the bucket have a specification of it: %w",
			string(name), store.ErrNotFound)
	}
	delete(removed, spec)

	if _, _, wrote, err := marked.Write(ctx, r.b, decision); err != nil {
		return err
	} else if wrote { // a run that began meanwhile looks for the mark after writing its specification
		exists, err = name.Spec().Exists(ctx, r.b)
		if err == nil && exists {
			err = errTaken(name)
		}
		if err != nil {
			return errors.Join(err, r.b.Delete(ctx, marked.Key))
		}
	}
	if err := r.all(ctx, removed); err != nil {
		return err
	}
	keys, err := store.Keys(ctx, r.b, name.Prefix())
	if err != nil {
		return err
	}
	if !exists {
		if err := r.take(ctx, spec, source); err != nil {
			return err
		}
		keys = append(keys, spec)
	}
	if err := r.follow(ctx, keys); err != nil {
		return err
	}

	return r.b.Delete(ctx, marked.Key)
}

func errTaken(name runs.Run) error {
	return fault.New(fault.Invalid, "run %s exists and is not deleted: `collabui delete %s --undo --missing` "+
		"takes back what it lacks. An earlier run of that name can come back when this one is deleted and collected",
		name, fault.ShellQuote(string(name)))
}

// removed returns the removed objects of a run and their places, by key. They belong to the run that has the name or,
// if no run has it, to the last one that had it.
func (r *rescue) removed(ctx context.Context, name runs.Run, exists bool) (map[string]source, error) {
	copies, err := r.trashed(ctx, name)
	if err != nil {
		return nil, err
	}
	specs := []int{}
	ends := []int{} // collections that removed specifications, and marks last
	for _, ref := range copies {
		switch key, n, _ := store.TrashOf(ref.Key); key {
		case name.Spec().Key:
			specs = append(specs, n)
		case name.Deleted().Key:
			ends = append(ends, n)
		}
	}
	slices.Sort(ends)
	after := 0
	until := int(^uint(0) >> 1)
	newest := until
	if !exists && len(specs) > 0 {
		newest = slices.Max(specs)
	}
	for _, n := range ends {
		if n < newest {
			after = n
		} else {
			until = min(until, n)
		}
	}

	out := map[string]source{}
	for _, o := range copies { // later copies are from later collections
		if key, n, ok := store.TrashOf(o.Key); ok && n > after && n <= until && isPart(name, key) {
			out[key] = source{trash: o.Key, size: o.Size}
		}
	}
	if versioned, ok := r.b.(store.Versioned); ok {
		versions, err := versioned.Versions(ctx, name.Prefix())
		if err != nil {
			return nil, err
		}
		addVersions(out, name, versions, exists)
	}

	return out, nil
}

// trashed returns a run's objects in the trash, from two LISTs, because an object that one leaves out would be missing.
func (r *rescue) trashed(ctx context.Context, name runs.Run) ([]store.Ref, error) {
	var copies []store.Ref
	for range 2 {
		shown, err := r.b.List(ctx, store.TrashPrefix+name.Prefix())
		if err != nil {
			return nil, err
		}
		copies = append(copies, shown...)
	}
	slices.SortFunc(copies, func(a, b store.Ref) int { return strings.Compare(a.Key, b.Key) })

	return slices.Compact(copies), nil
}

// addVersions adds the newest versions of removed objects, unless they belong to an earlier run of the name.
func addVersions(out map[string]source, name runs.Run, versions []store.Version, exists bool) {
	var before time.Time // when the specification of the earlier run was removed
	began := exists      // whether the specification of the run was seen
	for _, version := range versions {
		if version.Key != name.Spec().Key {
			continue
		}
		if version.Removed && began && version.Written.After(before) {
			before = version.Written
		}
		began = began || !version.Removed
	}
	seen := map[string]bool{}
	for i, v := range versions {
		removed := i > 0 && versions[i-1].Key == v.Key && versions[i-1].Removed
		if v.Removed || seen[v.Key] {
			continue
		}
		seen[v.Key] = true
		if _, has := out[v.Key]; !has && removed && v.Written.After(before) && isPart(name, v.Key) {
			out[v.Key] = source{version: v, size: v.Size}
		}
	}
}

// isPart reports whether an object is part of a run that is taken back. Objects that every collection removes are not,
// nor is the mark of the deletion.
func isPart(name runs.Run, key string) bool {
	return key != name.Deleted().Key && !runs.IsMark(key) && !checkpoint.MatchString(key) &&
		!strings.HasPrefix(key, name.CallsPrefix())
}
