package collect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/lines"
	"github.com/collabui/collabui/internal/store/runs"
)

// Delete marks a run as deleted: nothing can be done with it any more, and Collect removes it after the grace period.
// It is an invalid fault if the run goes on, which running reports, or if something else needs it, which the error
// names. The error wraps store.ErrNotFound if there is no such run.
func Delete(
	ctx context.Context, b store.Keeper, name runs.Run, d runs.Decision, running func() (bool, error),
) error {
	if _, err := name.Find(ctx, b); err != nil {
		return err
	}
	if err := needed(ctx, b, name, running); err != nil {
		return err
	}
	if _, _, err := name.Deleted().Record(ctx, b, func() (runs.Decision, error) { return d, nil }); err != nil {
		return err
	}
	// Whoever began to need it meanwhile looks for the mark after that, and one of both sees the other.
	if err := needed(ctx, b, name, running); err != nil {
		return errors.Join(err, b.Delete(context.WithoutCancel(ctx), name.Deleted().Key))
	}

	return nil
}

// needed returns an invalid fault that says what needs a run.
func needed(ctx context.Context, b store.Bucket, name runs.Run, running func() (bool, error)) error {
	on, err := running()
	if err != nil {
		return err
	}
	if on {
		return fault.New(fault.Invalid, "run %s goes on: stop it first with `collabui stop %s`", name,
			fault.ShellQuote(string(name)))
	}
	if why, err := inLine(ctx, b, name); err != nil || why != "" {
		return because(name, why, err)
	}
	if why, err := inFork(ctx, b, name); err != nil || why != "" {
		return because(name, why, err)
	}
	why, err := inBase(ctx, b, name)

	return because(name, why, err)
}

func because(name runs.Run, why string, err error) error {
	if err != nil || why == "" {
		return err
	}

	return fault.New(fault.Invalid, "run %s is needed: %s", name, why)
}

// inLine returns which line accepts, or accepted, a system of the run: it could be rolled back to it. The run knows
// such lines of its store. Only those that were copied here are found by a LIST.
func inLine(ctx context.Context, b store.Bucket, name runs.Run) (string, error) {
	all, err := lines.Names(ctx, b)
	if err != nil {
		return "", err
	}
	promotions, err := name.Promotions(ctx, b)
	if err != nil {
		return "", err
	}
	for _, p := range promotions {
		all = append(all, p.Line)
	}
	slices.Sort(all)
	for _, line := range slices.Compact(all) {
		history, err := lines.Line(line).History(ctx, b, 0)
		if err != nil {
			return "", err
		}
		for _, e := range history {
			if e.Verb != lines.Reject && e.System.Run == string(name) {
				return fmt.Sprintf("entry %d of line %s accepts %s", e.Number, line, e.System), nil
			}
		}
	}

	return "", nil
}

// inFork says which run is a fork of the run, whose lineage leads through it. Forks that are being made count.
func inFork(ctx context.Context, b store.Bucket, name runs.Run) (string, error) {
	all, err := b.Folders(ctx, runs.AllPrefix)
	if err != nil {
		return "", err
	}
	for _, other := range all {
		x := runs.Run(other)
		if x == name {
			continue
		}
		origin, _, err := x.Origin().Sure(ctx, b) // only forks have one
		if err != nil {
			return "", err
		}
		gone, err := x.Deleted().Exists(ctx, b)
		if err != nil {
			return "", err
		}
		if origin.Run == string(name) && !gone {
			return fmt.Sprintf("run %s is a fork of it", x), nil
		}
	}

	return "", nil
}

// inBase says which run began with a policy of the run.
func inBase(ctx context.Context, b store.Bucket, name runs.Run) (string, error) {
	names, err := runs.Names(ctx, b)
	if err != nil {
		return "", err
	}
	var own []string
	for _, other := range slices.DeleteFunc(names, func(n string) bool { return n == string(name) }) {
		s, _, err := runs.Run(other).Spec().Sure(ctx, b) // one that is being made has none
		if err != nil {
			return "", err
		}
		if s.FineTune.Base == "" {
			continue
		}
		if own == nil {
			if own, err = made(ctx, b, name); err != nil {
				return "", err
			}
		}
		if slices.Contains(own, strings.TrimSpace(s.FineTune.Base)) {
			return fmt.Sprintf("run %s began with a policy of it", other), nil
		}
	}

	return "", nil
}

// made returns the digests of the policies that a run has made.
func made(ctx context.Context, b store.Bucket, name runs.Run) ([]string, error) {
	base, based, err := name.Base().Sure(ctx, b)
	if err != nil || !based {
		return []string{}, err
	}
	out := []string{base.Policy.Digest}
	committed, err := name.Committed(ctx, b)
	if err != nil {
		return nil, err
	}
	for n := 1; n <= committed; n++ {
		e, _, err := name.Epoch(n).Must(ctx, b)
		if err != nil {
			return nil, err
		}
		out = append(out, e.System.Digests()...)
	}

	return out, nil
}
