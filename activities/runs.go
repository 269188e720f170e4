package activities

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// AtEnd stands for the evaluations at the end of a run in the place of an epoch.
const AtEnd = -1

// Runs is what a process knows of the runs that it works for: their specifications with the changes by people, and what
// their epochs began with. All activities of a process share it.
type Runs struct {
	bucket store.Bucket
	kernel string

	byName  sync.Map // *knownRun by the name of the run
	prompts sync.Map // the digest of the prompts of all roles, by the digest of a specification's prompts
	flights singleflight.Group
}

// NewRuns returns a cache of the runs in a bucket. The kernel is the arithmetic of the embedded policy in this process.
func NewRuns(bucket store.Bucket, kernel string) *Runs {
	return &Runs{bucket: bucket, kernel: kernel}
}

// knownRun is a run's specification with the changes by people, as far as this process has read them, and what this
// process keeps of its epochs.
type knownRun struct {
	original spec.Spec    // written once
	shared   *runs.Shared // what a fork shares
	identity string       // of the run: another one of its name has another identity

	beginnings recent[runs.Made]
	slots      recent[*EpochSlots]

	mu       sync.Mutex
	checked  time.Time // when the run was last known to have this specification
	writer   Writer
	changes  []runs.Change
	read     time.Time // when changes were read
	computed computedSpec
}

// computedSpec is a specification after the first changes of a number of known ones.
type computedSpec struct {
	spec         spec.Spec
	first, known int
}

// rereadEvery is how often changes that take effect immediately are read.
const rereadEvery = 5 * time.Second

// Spec returns a run's specification as it is in an epoch: changes by people count from the first epoch that begins
// after them. Epoch 0 is stage 1, before the first epoch.
func (k *Runs) Spec(ctx context.Context, run string, epoch int) (spec.Spec, error) {
	known, err := k.known(ctx, run)
	if err != nil {
		return spec.Spec{}, err
	}
	if owner, ok := known.shared.Owner(epoch); ok {
		specification, err := k.Spec(ctx, string(owner), epoch)
		specification.Name = run

		return specification, err
	}

	changes := 0
	if epoch != 0 {
		beginning, err := k.Beginning(ctx, run, epoch)
		if err != nil {
			return spec.Spec{}, err
		}
		changes = beginning.Changes
	}
	if len(known.original.Models) > 0 { // their limits may change at any moment
		err = known.readNewChanges(ctx, k.bucket, rereadEvery)
	}
	if err != nil {
		return spec.Spec{}, err
	}

	return known.after(ctx, k.bucket, changes)
}

// Latest returns a run's specification with all changes until now, and their number. There are at least as many as the
// caller knows of.
func (k *Runs) Latest(ctx context.Context, run string, atLeast int) (spec.Spec, int, error) {
	known, err := k.known(ctx, run)
	if err != nil {
		return spec.Spec{}, 0, err
	}
	if err := known.readChanges(ctx, k.bucket, atLeast); err != nil {
		return spec.Spec{}, 0, err
	}
	changes := known.numChanges()
	specification, err := known.after(ctx, k.bucket, changes)

	return specification, changes, err
}

// OfItem returns the specification by which an item is evaluated: on val the specification of its epoch, elsewhere the
// one at the end of the run. An evaluation by a person, or the check for drift, of a run that has not ended, uses the
// newest one.
func (k *Runs) OfItem(ctx context.Context, item rules.EvalItem) (spec.Spec, error) {
	open, err := k.isOpen(ctx, item)
	if err != nil {
		return spec.Spec{}, err
	}
	if open {
		specification, _, err := k.Latest(ctx, item.Run, 0)

		return specification, err
	}

	return k.Spec(ctx, item.Run, EpochOf(item))
}

// isOpen reports whether an item belongs to no epoch, and its run has not ended.
func (k *Runs) isOpen(ctx context.Context, item rules.EvalItem) (bool, error) {
	if item.AtEnd || EpochOf(item) != AtEnd {
		return false, nil
	}
	_, ends, err := runs.Run(item.Run).Final().Sure(ctx, k.bucket)

	return !ends, err
}

// EpochOf returns the epoch by whose specification an item is evaluated.
func EpochOf(item rules.EvalItem) int {
	if epoch, ok := rules.EpochOf(item.Folder); ok && !item.AtEnd {
		return epoch
	}

	return AtEnd
}

// Past returns the last epoch that a run shares with others as a whole, or 0, and what these epochs reached on val.
func (k *Runs) Past(ctx context.Context, run string) (int, runs.Past, error) {
	known, err := k.known(ctx, run)
	if err != nil || known.shared == nil {
		return 0, nil, err
	}
	past, _, err := runs.Run(run).Past().Must(ctx, k.bucket)

	return known.shared.Last(), past, err
}

// Once calls do once for all who call Once at the same time with the same key of a run. A caller that is cancelled does
// not wait, and does not end do for the others.
func (k *Runs) Once(ctx context.Context, run, key string, do func(ctx context.Context) error) error {
	known, err := k.known(ctx, run)
	if err != nil {
		return err
	}
	flight := k.flights.DoChan(key+" of "+known.identity, func() (_ any, err error) {
		defer func() {
			if r := recover(); r != nil { // it would end the process: it is not on an activity's goroutine
				err = fault.New(fault.Fatal, "%s: %v\n%s", key, r, debug.Stack())
			}
		}()

		return nil, do(context.WithoutCancel(ctx))
	})
	select {
	case done := <-flight:
		return done.Err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// RunKept is how long a process relies on what it knows of a run before it checks whether the run is still the same
// one: a name may be used again once its run was deleted or replaced.
const RunKept = 2 * time.Second

// known returns what this process knows of a run.
func (k *Runs) known(ctx context.Context, run string) (*knownRun, error) {
	cached, ok := k.byName.Load(run)
	if ok && cached.(*knownRun).isFresh() {
		return cached.(*knownRun), nil
	}
	forked, identity, err := runs.Run(run).Identify(ctx, k.bucket)
	if err != nil {
		if ok && errors.Is(err, store.ErrAbsent) { // another run may get its name
			k.byName.CompareAndDelete(run, cached)
		}

		return nil, fmt.Errorf("specification of run %q: %w", run, err)
	}
	if ok && cached.(*knownRun).confirm(identity) {
		return cached.(*knownRun), nil
	}
	if ok {
		k.byName.CompareAndDelete(run, cached)
	}
	stored, _ := k.byName.LoadOrStore(run, &knownRun{
		original: forked.Spec, shared: forked.Shared, identity: identity, checked: time.Now(),
		computed: computedSpec{spec: forked.Spec},
	})

	return stored.(*knownRun), nil
}

// isFresh reports whether the run need not be identified again.
func (k *knownRun) isFresh() bool {
	k.mu.Lock()
	defer k.mu.Unlock()

	return time.Since(k.checked) < RunKept
}

// confirm notes which run has the name now, and reports whether it is this one.
func (k *knownRun) confirm(identity string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	same := identity != "" && k.identity == identity
	if same {
		k.checked = time.Now()
	}

	return same
}

// numChanges returns the number of changes that this process has read.
func (k *knownRun) numChanges() int {
	k.mu.Lock()
	defer k.mu.Unlock()

	return len(k.changes)
}

// readNewChanges reads changes that were recorded since, unless somebody did so a short while ago. A change that the
// store does not show yet is read by a later call.
func (k *knownRun) readNewChanges(ctx context.Context, bucket store.Bucket, atMostEvery time.Duration) error {
	k.mu.Lock()
	known := len(k.changes)
	recent := time.Since(k.read) < atMostEvery
	if !recent {
		k.read = time.Now()
	}
	k.mu.Unlock()
	if recent {
		return nil
	}

	log := runs.Log[runs.Change](runs.Run(k.original.Name).Change)
	for {
		change, there, err := log.Next(ctx, bucket, known)
		if err != nil || !there {
			return err
		}
		k.addChanges(known, []runs.Change{change})
		known++
	}
}

// readChanges reads all changes that were recorded since. There are at least as many as the caller knows of. No lock is
// held while the store is read: a slow answer must not stop callers that need nothing from it.
func (k *knownRun) readChanges(ctx context.Context, bucket store.Bucket, atLeast int) error {
	known := k.numChanges()
	fresh, err := runs.Run(k.original.Name).Changes(ctx, bucket, known, atLeast)
	if err == nil {
		k.addChanges(known, fresh)
	}

	return err
}

// addChanges adds the changes that follow a number of them, as far as they are new.
func (k *knownRun) addChanges(after int, fresh []runs.Change) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if more := after + len(fresh) - len(k.changes); more > 0 {
		k.changes = append(k.changes, fresh[len(fresh)-more:]...)
	}
}

// after returns the specification after the first changes.
func (k *knownRun) after(ctx context.Context, bucket store.Bucket, changes int) (spec.Spec, error) {
	if k.numChanges() < changes {
		if err := k.readChanges(ctx, bucket, changes); err != nil {
			return spec.Spec{}, err
		}
	}

	k.mu.Lock()
	defer k.mu.Unlock()
	if k.computed.first == changes && k.computed.known == len(k.changes) {
		return k.computed.spec, nil
	}
	specification, err := runs.After(k.original, k.changes, changes)
	if err == nil {
		k.computed = computedSpec{spec: specification, first: changes, known: len(k.changes)}
	}

	return specification, err
}
