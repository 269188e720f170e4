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

// BeginningOf returns the record of what an epoch began with.
func BeginningOf(run string, epoch int) runs.Object[runs.Made] {
	if epoch == AtEnd {
		return runs.Run(run).Final()
	}

	return runs.Run(run).Made(epoch)
}

// Beginning returns what an epoch began with.
func (k *Runs) Beginning(ctx context.Context, run string, epoch int) (runs.Made, error) {
	known, err := k.known(ctx, run)
	if err != nil {
		return runs.Made{}, err
	}
	if beginning, ok := known.beginnings.find(epoch); ok {
		return beginning, nil
	}
	beginning, _, err := BeginningOf(run, epoch).Must(ctx, k.bucket)
	if err == nil {
		known.beginnings.keep(epoch, beginning)
	}

	return beginning, err
}

// EpochSlots returns the slots and the topology of an epoch. Those of the epochs that were used last are kept, so the
// cost of a rollout does not grow with the number of slots.
func (k *Runs) EpochSlots(ctx context.Context, run string, epoch int) (*EpochSlots, error) {
	known, err := k.known(ctx, run)
	if err != nil {
		return nil, err
	}
	if slots, ok := known.slots.find(epoch); ok {
		return slots, nil
	}

	// All rollouts of an epoch begin at once. One of them reads for all, even if it is cancelled.
	read, err, _ := k.flights.Do(fmt.Sprint(run, "/", epoch), func() (any, error) {
		slots, err := k.readSlots(context.WithoutCancel(ctx), runs.Run(run), epoch)
		if err == nil {
			known.slots.keep(epoch, slots)
		}

		return slots, err
	})

	return read.(*EpochSlots), err
}

func (k *Runs) readSlots(ctx context.Context, run runs.Run, epoch int) (*EpochSlots, error) {
	out := &EpochSlots{}
	var err error
	out.Slots, _, err = run.Slots(epoch).Must(ctx, k.bucket)
	if err != nil {
		return out, err
	}
	out.Topology, out.TopologyRef, err = run.Topology(epoch).Must(ctx, k.bucket)

	return out, err
}

// Writer returns what identifies the records of a run that has begun.
func (k *Runs) Writer(ctx context.Context, run string) (Writer, error) {
	known, err := k.known(ctx, run)
	if err != nil {
		return Writer{}, err
	}
	known.mu.Lock()
	writer := known.writer
	known.mu.Unlock()
	if writer.Tag != "" {
		return writer, nil
	}

	by, err := runs.Run(run).By(ctx, k.bucket)
	if err != nil {
		return Writer{}, fault.As(fault.Transient, err) // it is about to begin
	}
	writer = Writer{By: by}
	if known.shared != nil {
		writer.copied = known.shared.Copied
	}
	known.mu.Lock()
	known.writer = writer
	known.mu.Unlock()

	return writer, nil
}
