package collect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Delete marks a run as deleted: the run can no longer be used, and Collect removes it after the grace period. Delete
// returns an invalid fault if the run still continues, as running reports, or if something else needs it, which the
// error names. The error wraps store.ErrNotFound if there is no such run.
func Delete(
	ctx context.Context, keeper store.Keeper, name runs.Run, d runs.Decision, running func() (bool, error),
) error {
	if _, err := name.Find(ctx, keeper); err != nil {
		return err
	}
	if err := checkUnneeded(ctx, keeper, name, running); err != nil {
		return err
	}
	if _, _, err := name.Deleted().Record(ctx, keeper, func() (runs.Decision, error) { return d, nil }); err != nil {
		return err
	}
	// A process that begins to need the run meanwhile records its need before it looks for the mark, so one of the two
	// notices the other.
	if err := checkUnneeded(ctx, keeper, name, running); err != nil {
		return errors.Join(err, keeper.Delete(context.WithoutCancel(ctx), name.Deleted().Key))
	}

	return nil
}

// checkUnneeded returns an invalid fault that states why a run is needed, or nil if it is not.
func checkUnneeded(ctx context.Context, bucket store.Bucket, name runs.Run, running func() (bool, error)) error {
	active, err := running()
	if err != nil {
		return err
	}
	if active {
		return fault.New(fault.Invalid, "run %s has not ended: stop it first with `collabui stop %s`", name,
			fault.ShellQuote(string(name)))
	}
	if why, err := inLine(ctx, bucket, name); err != nil || why != "" {
		return neededError(name, why, err)
	}
	if why, err := inFork(ctx, bucket, name); err != nil || why != "" {
		return neededError(name, why, err)
	}
	why, err := inBase(ctx, bucket, name)

	return neededError(name, why, err)
}

func neededError(name runs.Run, why string, err error) error {
	if err != nil || why == "" {
		return err
	}

	return fault.New(fault.Invalid, "run %s is needed: %s", name, why)
}

// inLine returns the line that accepts, or once accepted, a system of the run: the line could be rolled back to it. The
// run records such lines of its own store. Only lines that were copied here are found by a LIST.
func inLine(ctx context.Context, bucket store.Bucket, name runs.Run) (string, error) {
	all, err := lines.Names(ctx, bucket)
	if err != nil {
		return "", err
	}
	promotions, err := name.Promotions(ctx, bucket)
	if err != nil {
		return "", err
	}
	for _, promotion := range promotions {
		all = append(all, promotion.Line)
	}
	slices.Sort(all)
	for _, line := range slices.Compact(all) {
		history, err := lines.Line(line).History(ctx, bucket, 0)
		if err != nil {
			return "", err
		}
		for _, entry := range history {
			if entry.Verb != lines.Reject && entry.System.Run == string(name) {
				return fmt.Sprintf("entry %d of line %s accepts %s", entry.Number, line, entry.System), nil
			}
		}
	}

	return "", nil
}

// inFork returns the fork of the run, if any, whose lineage leads through it. Forks that are still being made count.
func inFork(ctx context.Context, bucket store.Bucket, name runs.Run) (string, error) {
	all, err := bucket.Folders(ctx, runs.AllPrefix)
	if err != nil {
		return "", err
	}
	for _, other := range all {
		x := runs.Run(other)
		if x == name {
			continue
		}
		origin, _, err := x.Origin().Sure(ctx, bucket) // only forks have an origin
		if err != nil {
			return "", err
		}
		gone, err := x.Deleted().Exists(ctx, bucket)
		if err != nil {
			return "", err
		}
		if origin.Run == string(name) && !gone {
			return fmt.Sprintf("run %s is a fork of it", x), nil
		}
	}

	return "", nil
}

// inBase returns the run, if any, that began with a policy of this run.
func inBase(ctx context.Context, bucket store.Bucket, name runs.Run) (string, error) {
	names, err := runs.Names(ctx, bucket)
	if err != nil {
		return "", err
	}
	var own []string
	for _, other := range slices.DeleteFunc(names, func(n string) bool { return n == string(name) }) {
		// A run that is being made has no specification.
		specification, _, err := runs.Run(other).Spec().Sure(ctx, bucket)
		if err != nil {
			return "", err
		}
		if specification.FineTune.Base == "" {
			continue
		}
		if own == nil {
			if own, err = policiesOf(ctx, bucket, name); err != nil {
				return "", err
			}
		}
		if slices.Contains(own, strings.TrimSpace(specification.FineTune.Base)) {
			return fmt.Sprintf("run %s began with a policy of it", other), nil
		}
	}

	return "", nil
}

// policiesOf returns the digests of the policies that a run has made.
func policiesOf(ctx context.Context, bucket store.Bucket, name runs.Run) ([]string, error) {
	base, based, err := name.Base().Sure(ctx, bucket)
	if err != nil || !based {
		return []string{}, err
	}
	out := []string{base.Policy.Digest}
	committed, err := name.Committed(ctx, bucket)
	if err != nil {
		return nil, err
	}
	for n := 1; n <= committed; n++ {
		epoch, _, err := name.Epoch(n).Must(ctx, bucket)
		if err != nil {
			return nil, err
		}
		out = append(out, epoch.System.Digests()...)
	}

	return out, nil
}
