package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// atEnd stands for the evaluations at the end of a run where an epoch is asked for.
const atEnd = -1

// versions is a run's specification with the changes by people, as far as this process has read them, and what this
// process keeps of its epochs.
type versions struct {
	original spec.Spec    // written once
	shared   *runs.Shared // what a fork shares
	identity string       // of the run: another one of its name has another

	begun twoEpochs[runs.Made]
	plans twoEpochs[*epochPlan]

	mu      sync.Mutex
	checked time.Time // when the run was last known to have this specification
	own     own
	changes []runs.Change
	read    time.Time // when changes were read
	newest  spec.Spec // what was asked for last: after n changes of known
	n       int
	known   int
}

// rereadEvery is how often changes are looked for that take effect immediately.
const rereadEvery = 5 * time.Second

// spec returns a run's specification as it is in an epoch: changes by people count from the first epoch that begins
// after them. 0 is what comes before the first epoch.
func (c *Common) spec(ctx context.Context, run string, epoch int) (spec.Spec, error) {
	v, err := c.versions(ctx, run)
	if err != nil {
		return spec.Spec{}, err
	}
	if owner, ok := v.shared.Owner(epoch); ok {
		s, err := c.spec(ctx, string(owner), epoch)
		s.Name = run

		return s, err
	}
	n := 0
	if epoch != 0 {
		made, err := c.begun(ctx, run, epoch)
		if err != nil {
			return spec.Spec{}, err
		}
		n = made.Changes
	}
	if len(v.original.Models) > 0 { // their limits may change at any moment
		err = v.look(ctx, c, rereadEvery)
	}
	if err != nil {
		return spec.Spec{}, err
	}

	return v.after(ctx, c, n)
}

// latest returns a run's specification with all changes until now, and their number, which is not less than the one
// that the caller knows.
func (c *Common) latest(ctx context.Context, run string, changes int) (spec.Spec, int, error) {
	v, err := c.versions(ctx, run)
	if err != nil {
		return spec.Spec{}, 0, err
	}
	if err := v.refresh(ctx, c, changes); err != nil {
		return spec.Spec{}, 0, err
	}
	v.mu.Lock()
	n := len(v.changes)
	v.mu.Unlock()
	s, err := v.after(ctx, c, n)

	return s, n, err
}

// played returns the specification by which an item is evaluated: val by that of its epoch, anything else by that of
// the end of the run.
func (c *Common) played(ctx context.Context, item rules.EvalItem) (spec.Spec, error) {
	open, err := c.open(ctx, item)
	if err != nil {
		return spec.Spec{}, err
	}
	if open {
		s, _, err := c.latest(ctx, item.Run, 0)

		return s, err
	}

	return c.spec(ctx, item.Run, epochOf(item))
}

// open reports whether an item is played with the newest specification, because its run has not ended: an evaluation by
// a person, or the check for drift.
func (c *Common) open(ctx context.Context, item rules.EvalItem) (bool, error) {
	if item.AtEnd || epochOf(item) != atEnd {
		return false, nil
	}
	_, ends, err := runs.Run(item.Run).Final().Sure(ctx, c.Bucket)

	return !ends, err
}

// epochOf returns with which epoch's specification an item is evaluated.
func epochOf(item rules.EvalItem) int {
	if epoch, ok := rules.EpochOf(item.Folder); ok && !item.AtEnd {
		return epoch
	}

	return atEnd
}

// RunKept is how long a process relies on what it knows of a run before it looks whether the run is still the same one:
// a name may be used again once its run was deleted or replaced.
const RunKept = 2 * time.Second

// versions returns what this process knows of a run's specification.
func (c *Common) versions(ctx context.Context, run string) (*versions, error) {
	known, ok := c.specs.Load(run)
	if ok && known.(*versions).sure() {
		return known.(*versions), nil
	}
	s, identity, err := runs.Run(run).Identify(ctx, c.Bucket)
	if err != nil {
		if ok && errors.Is(err, store.ErrAbsent) { // another run may get its name
			c.specs.CompareAndDelete(run, known)
		}

		return nil, fmt.Errorf("specification of run %q: %w", run, err)
	}
	if ok && known.(*versions).still(identity) {
		return known.(*versions), nil
	}
	if ok {
		c.specs.CompareAndDelete(run, known)
	}
	v, _ := c.specs.LoadOrStore(run, &versions{
		original: s.Spec, shared: s.Shared, newest: s.Spec, identity: identity, checked: time.Now(),
	})

	return v.(*versions), nil
}

// sure reports whether the run need not be looked at again.
func (v *versions) sure() bool {
	v.mu.Lock()
	defer v.mu.Unlock()

	return time.Since(v.checked) < RunKept
}

// still notes which run has the name now, and reports whether it is this one.
func (v *versions) still(identity string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	same := identity != "" && v.identity == identity
	if same {
		v.checked = time.Now()
	}

	return same
}

// look reads changes that were recorded since, unless somebody did so a short while ago. One that the store does not
// show yet is read by a later look.
func (v *versions) look(ctx context.Context, c *Common, atMostEvery time.Duration) error {
	v.mu.Lock()
	known, recent := len(v.changes), time.Since(v.read) < atMostEvery
	if !recent {
		v.read = time.Now()
	}
	v.mu.Unlock()
	if recent {
		return nil
	}
	log := runs.Log[runs.Change](runs.Run(v.original.Name).Change)
	for {
		change, there, err := log.Next(ctx, c.Bucket, known)
		if err != nil || !there {
			return err
		}
		v.add(known, []runs.Change{change})
		known++
	}
}

// refresh reads all changes that were recorded since. There are at least as many as the caller knows of. No lock is
// held while the store is read: a slow answer must not stop callers that need nothing from it.
func (v *versions) refresh(ctx context.Context, c *Common, atLeast int) error {
	v.mu.Lock()
	known := len(v.changes)
	v.mu.Unlock()

	fresh, err := runs.Run(v.original.Name).Changes(ctx, c.Bucket, known, atLeast)
	if err == nil {
		v.add(known, fresh)
	}

	return err
}

// add adds the changes after a number of them, as far as they are new.
func (v *versions) add(after int, fresh []runs.Change) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if more := after + len(fresh) - len(v.changes); more > 0 {
		v.changes = append(v.changes, fresh[len(fresh)-more:]...)
	}
}

// after returns the specification after the first n changes.
func (v *versions) after(ctx context.Context, c *Common, n int) (spec.Spec, error) {
	v.mu.Lock()
	short := len(v.changes) < n
	v.mu.Unlock()
	if short {
		if err := v.refresh(ctx, c, n); err != nil {
			return spec.Spec{}, err
		}
	}

	v.mu.Lock()
	defer v.mu.Unlock()
	if v.n == n && v.known == len(v.changes) {
		return v.newest, nil
	}
	s, err := runs.After(v.original, v.changes, n)
	if err == nil {
		v.newest, v.n, v.known = s, n, len(v.changes)
	}

	return s, err
}
