package transfer

import (
	"context"
	"errors"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
	"github.com/collabui/collabui/internal/store"
)

// All copies all runs, lines, schedules and experiments, and last the blobs that nothing refers to, such as policies
// that were imported and not used yet. It is like Runs otherwise, but if the other side has a different object under
// the same name, such as a run whose name was used before, it continues without it and returns that error at the end.
func All(ctx context.Context, from, to store.Bucket, progress func(done, known int)) (Report, error) {
	names, err := runs.Names(ctx, from)
	if err != nil {
		return Report{}, err
	}
	t := newTransfer(from, to, progress)
	t.lenient = true
	report, err := t.runs(ctx, names)
	if err != nil {
		return report, err
	}
	for _, list := range []func(context.Context, store.Bucket) ([]string, error){
		lines.Keys, schedules.Keys, experiments.Keys, imports,
	} {
		keys, err := list(ctx, from)
		if err != nil {
			return t.report, err
		}
		t.add(keys...)
	}
	blobs, err := from.List(ctx, store.BlobPrefix)
	if err != nil {
		return t.report, err
	}
	for _, ref := range blobs {
		t.found(ref.Key)
	}
	err = t.all(ctx)
	if err == nil {
		err = t.ends(ctx)
	}
	if len(t.refused) > 0 {
		err = errors.Join(err, fault.New(fault.Invalid, "%d objects were not copied, the first: %w", len(t.refused),
			t.refused[0]))
	}

	return t.report, err
}

// imports returns the keys of the imports.
func imports(ctx context.Context, bucket store.Bucket) ([]string, error) {
	return store.Keys(ctx, bucket, runs.ImportsPrefix)
}
