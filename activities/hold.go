package activities

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/collabui/collabui/internal/records/runs"
)

// Order returns the newest order to pause, resume or stop a run, or nil. An order from before the workflow was started,
// or was last ordered something, is over, because somebody has started the run again: this is recorded as a resume.
func (k *Runs) Order(ctx context.Context, run string, since time.Time) (*runs.Change, error) {
	known, err := k.known(ctx, run)
	if err != nil {
		return nil, err
	}
	newest := known.order()
	if newest == nil || newest.Verb == runs.VerbResume || !newest.At.Before(since) {
		return newest, nil
	}
	again := runs.Change{
		Verb: runs.VerbResume, Who: "collabui", Why: "the run was started again", At: since,
	}
	_, err = runs.Run(run).Append(ctx, k.bucket, again)

	return &again, err
}

// order returns the newest order to pause, resume or stop that this process has read, or nil.
func (k *knownRun) order() *runs.Change {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, change := range slices.Backward(k.changes) {
		if change.Verb == runs.VerbPause || change.Verb == runs.VerbResume || change.Verb == runs.VerbStop {
			return &change
		}
	}

	return nil
}

// Held is the type of the error of an activity that began nothing more because a person holds the run.
const Held = "held"

var errHeld = errors.New("a person holds the run, so nothing begins")

// CheckHold returns an error if a person holds a run. It reads the store, which costs an episode one request.
func (k *Runs) CheckHold(ctx context.Context, run string) error {
	known, err := k.known(ctx, run)
	if err == nil {
		err = known.readNewChanges(ctx, k.bucket, 0)
	}
	if err != nil {
		return err
	}
	if order := known.order(); order != nil && order.Verb == runs.VerbPause {
		return errHeld
	}

	return nil
}
