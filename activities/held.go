package activities

import (
	"context"
	"errors"
	"slices"

	"github.com/collabui/collabui/internal/records/runs"
)

// asked returns the newest pause, resume or stop of a run, or nil. One that is older than what the workflow was last
// asked is over: somebody has started the run again. This is recorded as a resume.
func (c *Common) asked(ctx context.Context, id RunID) (*runs.Change, error) {
	v, err := c.versions(ctx, id.Run)
	if err != nil {
		return nil, err
	}
	newest := v.asked()
	if newest == nil || newest.Verb == runs.VerbResume || !newest.At.Before(id.Asked) {
		return newest, nil
	}
	again := runs.Change{
		Verb: runs.VerbResume, Who: "collabui", Why: "the run was started again", At: id.Asked,
	}
	_, err = runs.Run(id.Run).Append(ctx, c.Bucket, again)

	return &again, err
}

// asked returns the newest pause, resume or stop that this process has read, or nil.
func (v *versions) asked() *runs.Change {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, x := range slices.Backward(v.changes) {
		if x.Verb == runs.VerbPause || x.Verb == runs.VerbResume || x.Verb == runs.VerbStop {
			return &x
		}
	}

	return nil
}

// Held is the type of the error of an activity that began nothing more because a person holds the run.
const Held = "held"

var errHeld = errors.New("a person holds the run, so nothing begins")

// held returns errHeld if a person holds a run. It reads the store, which costs an episode one request.
func (c *Common) held(ctx context.Context, run string) error {
	v, err := c.versions(ctx, run)
	if err == nil {
		err = v.look(ctx, c, 0)
	}
	if err != nil {
		return err
	}
	if x := v.asked(); x != nil && x.Verb == runs.VerbPause {
		return errHeld
	}

	return nil
}
