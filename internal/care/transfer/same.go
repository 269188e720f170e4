package transfer

import (
	"bytes"
	"context"
	"errors"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// sameRun returns an error if the other side has a different run of this name.
func (t *transfer) sameRun(ctx context.Context, name string) error {
	key := runs.Run(name).Spec().Key
	theirs, err := t.to.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	ours, err := t.from.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) || err == nil && !bytes.Equal(ours, theirs) {
		return errAnother(key)
	}

	return err
}

// mayHave returns an error for an object of a run if the other side has a different run of that name: forks refer to
// objects of the runs that they were made from.
func (t *transfer) mayHave(ctx context.Context, key string) error {
	name := runs.NameOf(key)
	if name == "" {
		return nil
	}
	t.mu.Lock()
	err, known := t.same[name]
	t.mu.Unlock()
	if known {
		return err
	}
	err = t.sameRun(ctx, name)
	if err == nil || fault.KindOf(err) == fault.Invalid {
		t.mu.Lock()
		t.same[name] = err
		t.mu.Unlock()
	}

	return err
}

func errAnother(key string) error {
	return fault.New(fault.Invalid, "the other store has another %s: it has another run of that name", key)
}

// alive returns an error for a run that was deleted on the other side, because a collection would remove the copy.
func (t *transfer) alive(ctx context.Context, run runs.Run) error {
	_, gone, err := run.Deleted().Sure(ctx, t.to)
	if err == nil && gone {
		err = fault.New(fault.Invalid, "run %s was deleted in the store that it would be copied to: take it back "+
			"there with `collabui delete %[1]s --undo`, or wait until `collabui gc` has removed it", run)
	}

	return err
}

// refuse keeps an error for later, or returns it.
func (t *transfer) refuse(err error) error {
	if !t.lenient || fault.KindOf(err) != fault.Invalid {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refused = append(t.refused, err)

	return nil
}
