// Package fork makes a new run from a run's first epochs. Epochs that stay valid as a whole are shared: they stay where
// they are, and the fork records which run has them. Of the next epoch, what stays valid is copied: a copy has the
// bytes of the original, and refers to the objects that the original refers to. Everything else is recomputed when the
// fork is run.
package fork

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/hold"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Request specifies a fork.
type Request struct {
	Run   runs.Run // the run that is forked
	Name  runs.Run // the new run
	Epoch int      // the last epoch that is shared for certain; 0 is the result of stage 1
	Who   string
	Why   string
	At    time.Time
	Typed map[string]string // other values from the next epoch on, in YAML by key
	Cells []runs.Relabel    // other labels in the next epoch
}

// Fork is a planned fork: the parts of the original that stay valid, and the parts that are recomputed.
type Fork struct {
	Origin runs.Origin

	// Whole is the last epoch that stays valid as a whole. Of the next one, the steps before From stay valid; From is 0
	// if the original has no next epoch.
	Whole int
	From  spec.Step
	// Tests reports whether the original's evaluations at the end also stay valid for systems that are shared.
	Tests   bool
	Objects int // number of objects that are copied
	Epochs  int // of the fork, including the shared ones

	name    runs.Run
	spec    spec.Spec            // of the fork: with the changes of the original that count after the last shared epoch
	changes []runs.Change        // of the fork: one change if it has other values or labels
	slots   int                  // of the next epoch, if its number of slots is all that changes its plan; otherwise 0
	keys    []string             // keys that are copied, below the run
	shared  runs.Shared          // the objects that are not copied
	past    runs.Past            // the results of the shared epochs on val
	labels  map[int]runs.Credits // of the next epoch, by slot, where labels are not copied
}

// Plan determines the parts that a fork shares with its original. It writes nothing. It returns an invalid fault if the
// run has not committed the epoch, if a value is impossible, or if another run has the name.
func Plan(ctx context.Context, bucket store.Bucket, r Request, src spec.Source, catalog spec.Catalog) (*Fork, error) {
	fork := &Fork{name: r.Name}
	if _, err := r.Run.Find(ctx, bucket); err != nil {
		return fork, err
	}
	committed, err := r.Run.Committed(ctx, bucket)
	if err != nil {
		return fork, err
	}
	_, base, err := r.Run.Base().Sure(ctx, bucket)
	if err != nil {
		return fork, err
	}
	if !base {
		return fork, fault.New(fault.Invalid, "run %s cannot be forked yet: its stage 1 has not ended", r.Run)
	}
	if r.Epoch < 0 || r.Epoch > committed {
		return fork, fault.New(fault.Invalid, "run %s cannot be forked after epoch %d: it has committed %d epochs",
			r.Run, r.Epoch, committed)
	}
	if fork.spec, err = inherited(ctx, bucket, r.Run, r.Epoch); err != nil {
		return fork, err
	}
	fork.spec.Name = string(r.Name)
	fork.Origin = runs.Origin{Run: string(r.Run), Epoch: r.Epoch, Who: r.Who, Why: r.Why, At: r.At}
	values, err := fork.spec.Change(r.Typed, src, catalog)
	if err != nil {
		return fork, err
	}
	if len(values) > 0 || len(r.Cells) > 0 {
		fork.Origin.Values = values
		fork.Origin.Cells = r.Cells
		fork.changes = []runs.Change{{
			Who: r.Who, Why: r.Why, At: r.At, Verb: runs.VerbFork, Values: values, Cells: r.Cells,
		}}
	}
	then, err := runs.After(fork.spec, fork.changes, len(fork.changes))
	if err != nil {
		return fork, err
	}
	fork.Epochs = then.Epochs
	if err := fork.spec.Validate(catalog); err != nil {
		return fork, err
	}
	if err := fork.free(ctx, bucket); err != nil {
		return fork, err
	}
	if err := fork.compare(ctx, bucket, committed); err != nil {
		return fork, err
	}
	if err := fork.relabel(ctx, bucket, committed); err != nil {
		return fork, err
	}

	return fork, fork.list(ctx, bucket)
}

// inherited returns the specification of a run with the changes that count in the epoch after the last shared one.
func inherited(ctx context.Context, bucket store.Bucket, run runs.Run, epoch int) (spec.Spec, error) {
	shared, err := run.Shared(ctx, bucket)
	if err != nil {
		return spec.Spec{}, err
	}
	if owner, ok := shared.Owner(epoch + 1); ok {
		run = owner
	}
	specification, _, err := run.Spec().Must(ctx, bucket)
	if err != nil {
		return specification, err
	}
	for _, o := range []runs.Object[runs.Made]{run.Made(epoch + 1), run.Final()} {
		made, exists, err := o.Sure(ctx, bucket)
		if err != nil {
			return specification, err
		}
		if exists {
			all, err := run.Changes(ctx, bucket, 0, made.Changes)
			if err != nil {
				return specification, err
			}

			return runs.After(specification, all, min(made.Changes, len(all)))
		}
	}
	all, err := run.Changes(ctx, bucket, 0, 0)
	if err != nil {
		return specification, err
	}

	return runs.After(specification, all, len(all))
}

// free returns an error if another run has the name. A fork that was begun with the same request continues.
func (f *Fork) free(ctx context.Context, bucket store.Bucket) error {
	origin, exists, err := f.name.Origin().Sure(ctx, bucket)
	if err != nil {
		return err
	}
	if exists {
		if origin.Run == f.Origin.Run && origin.Epoch == f.Origin.Epoch &&
			runs.Digest(origin.Values) == runs.Digest(f.Origin.Values) &&
			runs.Digest(origin.Cells) == runs.Digest(f.Origin.Cells) {
			f.Origin = origin
			for i := range f.changes {
				f.changes[i].Who = origin.Who
				f.changes[i].Why = origin.Why
				f.changes[i].At = origin.At
			}

			return nil
		}

		return fault.New(fault.Invalid, "%s is another fork, of %s after epoch %d: choose another name with --name",
			f.name, origin.Run, origin.Epoch)
	}
	if err := f.name.Alive(ctx, bucket); err != nil {
		return err
	}
	_, taken, err := f.name.Spec().Sure(ctx, bucket)
	if err == nil && taken {
		err = fault.New(fault.Invalid, "there is a run %s already: choose another name with --name", f.name)
	}

	return err
}

// parallel is the number of objects that are copied concurrently.
const parallel = 16

// Make writes the fork: first the copies, and last the specification, which makes the fork exist and records its shared
// objects. It may be repeated, and continues where it was cut short. It changes nothing of a fork that exists, even if
// the original has continued since. It may take longer than the grace period of collections: see hold.Write. progress
// is called with the number of copied objects.
func (f *Fork) Make(ctx context.Context, bucket store.Bucket, progress func(n int)) error {
	if _, exists, err := f.name.Spec().Sure(ctx, bucket); err != nil || exists {
		return err
	}
	own := []string{string(f.name)}

	return hold.Write(ctx, bucket, "a fork", own, func(ctx context.Context, settle hold.Settle) error {
		if err := f.write(ctx, bucket, progress); err != nil {
			return err
		}
		if err := settle(ctx); err != nil {
			return err
		}
		// A collection may have removed objects that were written while this process was slow, so they are written
		// again.
		if err := f.write(ctx, bucket, func(int) {}); err != nil {
			return err
		}
		_, _, err := f.name.Forked().Record(ctx, bucket, func() (runs.Forked, error) {
			return runs.Forked{Spec: f.spec, Shared: &f.shared}, nil
		})
		if err != nil {
			return err
		}

		return f.write(ctx, bucket, func(int) {})
	})
}

// write writes everything but the specification.
func (f *Fork) write(ctx context.Context, b store.Bucket, progress func(n int)) error {
	origin := func() (runs.Origin, error) { return f.Origin, nil }
	if _, _, err := f.name.Origin().Record(ctx, b, origin); err != nil {
		return err
	}
	if err := f.lives(ctx, b); err != nil { // a deletion of the original looks for forks after that
		return err
	}
	for i, c := range f.changes {
		if _, _, err := f.name.Change(i+1).Record(ctx, b, func() (runs.Change, error) { return c, nil }); err != nil {
			return err
		}
	}
	if err := f.copy(ctx, b, progress); err != nil {
		return err
	}
	if err := f.begin(ctx, b); err != nil {
		return err
	}
	if err := f.label(ctx, b); err != nil {
		return err
	}
	_, _, err := f.name.Past().Record(ctx, b, func() (runs.Past, error) { return f.past, nil })

	return err
}

// lives returns an error if someone deleted the original, whose name another run may have taken meanwhile.
func (f *Fork) lives(ctx context.Context, bucket store.Bucket) error {
	from := runs.Run(f.Origin.Run)
	if err := from.Alive(ctx, bucket); err != nil {
		return err
	}
	commit, err := commitOf(ctx, bucket, from, f.Whole)
	if err == nil && !commit.Same(f.shared.Commit) {
		err = fault.New(fault.Invalid, "run %s was deleted, and its name is another run's now: there is nothing that "+
			"%s could share", from, f.name)
	}

	return err
}

// commitOf returns a reference to the commit of an epoch of a run, or to the run's base policy if the epoch is 0.
func commitOf(ctx context.Context, bucket store.Bucket, run runs.Run, epoch int) (ref store.Ref, err error) {
	if epoch > 0 {
		_, ref, err = run.Epoch(epoch).Must(ctx, bucket)
	} else {
		_, ref, err = run.Base().Must(ctx, bucket)
	}

	return ref, err
}

// copy copies objects of the original.
func (f *Fork) copy(ctx context.Context, bucket store.Bucket, progress func(n int)) error {
	from := runs.Run(f.Origin.Run)
	for start := 0; start < len(f.keys); start += parallel {
		group, gctx := errgroup.WithContext(ctx)
		for _, key := range f.keys[start:min(start+parallel, len(f.keys))] {
			group.Go(func() error {
				raw, err := runs.Raw(gctx, bucket, from.Prefix()+key)
				if err == nil {
					_, err = bucket.PutOnce(gctx, f.name.Prefix()+key, raw)
				}

				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		progress(min(start+parallel, len(f.keys)))
	}

	return nil
}

// begin records, for an epoch that is copied in part, that the changes of the fork count in it.
func (f *Fork) begin(ctx context.Context, bucket store.Bucket) error {
	if f.From <= spec.StepPlan && f.slots == 0 {
		return nil
	}
	_, _, err := f.name.Made(f.Whole+1).Record(ctx, bucket, func() (runs.Made, error) {
		made, _, err := runs.Run(f.Origin.Run).Made(f.Whole+1).Must(ctx, bucket)
		made.Changes = len(f.changes)

		return made, err
	})

	return err
}
