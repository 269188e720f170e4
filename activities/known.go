package activities

import (
	"context"
	"sync"
	"time"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

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

// RunKept is how long a process relies on what it knows of a run before it checks whether the run is still the same
// one: a name may be used again once its run was deleted or replaced.
const RunKept = 2 * time.Second

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
