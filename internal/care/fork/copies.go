package fork

import (
	"context"
	"path"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// listCopies finds the objects of the original that are copied: the base policy, everything before the first epoch,
// results of the base on val, and what stays valid of the epoch that is not shared as a whole. Their number does not
// depend on the number of epochs. Objects that an epoch's commit names exist; all others are read to find out. No LIST
// decides anything. Steps are not copied: episodes refer to the steps of the original. Checkpoints of training that has
// ended and recorded calls are not copied either.
func (f *Fork) listCopies(ctx context.Context, bucket store.Bucket) error {
	from := runs.Run(f.Origin.Run)
	f.take(from.Base().Key, from.Made(0).Key)
	if err := takeIf(ctx, bucket, f, from.Accepted(0)); err != nil {
		return err
	}
	base := []string{
		rules.NameBaseGreedy, rules.NameBaseWarm, rules.BaseName(f.spec.Agents), rules.SilentName(f.spec.Agents),
	}
	for _, system := range base {
		id := rules.EvalID(rules.EpochFolder(0), system, domain.SplitVal)
		if err := takeIf(ctx, bucket, f, from.Result(id)); err != nil {
			return err
		}
	}
	if f.From > spec.StepPlan || f.slots > 0 {
		if err := f.listEpoch(ctx, bucket, f.Whole+1); err != nil {
			return err
		}
	}
	f.Objects = len(f.keys)

	return nil
}

// take adds objects of the original to the objects that are copied.
func (f *Fork) take(keys ...string) {
	for _, key := range keys {
		f.keys = append(f.keys, strings.TrimPrefix(key, runs.Run(f.Origin.Run).Prefix()))
	}
}

// takeIf adds an object if it exists.
func takeIf[T any](ctx context.Context, bucket store.Bucket, fork *Fork, o runs.Object[T]) error {
	_, exists, err := o.Sure(ctx, bucket)
	if exists {
		fork.take(o.Key)
	}

	return err
}

// takeOf adds the given objects of an epoch if they stay valid.
func (f *Fork) takeOf(epoch int, keys ...string) {
	made := path.Dir(runs.Run(f.Origin.Run).Made(epoch).Key) + "/"
	for _, key := range keys {
		if f.copiesOf(strings.Split(strings.TrimPrefix(key, made), "/")) {
			f.take(key)
		}
	}
}

// listEpoch adds the objects of a committed epoch that stay valid.
func (f *Fork) listEpoch(ctx context.Context, bucket store.Bucket, epoch int) error {
	from := runs.Run(f.Origin.Run)
	e, _, err := from.Epoch(epoch).Must(ctx, bucket)
	if err != nil {
		return err
	}
	f.takeOf(epoch, from.Topology(epoch).Key, from.Slots(epoch).Key)
	for _, slot := range e.Episodes {
		last := number(strings.TrimPrefix(path.Base(path.Dir(slot.Episode.Key)), "a"))
		for attempt := 1; attempt <= last; attempt++ {
			f.takeOf(epoch, from.Start(epoch, slot.Slot, attempt).Key, from.Attempt(epoch, slot.Slot, attempt).Key)
		}
		if slot.Pairs.Key != "" { // the slot has not failed
			f.takeOf(epoch, from.Credits(epoch, slot.Slot).Key, from.Pairs(epoch, slot.Slot).Key)
		}
	}
	if f.From > spec.StepPairs && f.slots == 0 {
		if err := takeIf(ctx, bucket, f, from.Accepted(epoch)); err != nil {
			return err
		}
	}
	if f.From > spec.StepUpdate {
		if err := f.listUpdates(ctx, bucket, e); err != nil {
			return err
		}
	}
	if f.From > spec.StepEvaluation && e.Val != nil {
		return f.listVal(ctx, bucket, e)
	}

	return nil
}

// listUpdates adds the updates of an epoch, and the objects that they were made from.
func (f *Fork) listUpdates(ctx context.Context, bucket store.Bucket, epoch runs.Epoch) error {
	from := runs.Run(f.Origin.Run)
	for agent := range epoch.Updates {
		f.take(from.Update(epoch.Number, agent).Key)
		if err := takeIf(ctx, bucket, f, from.Dataset(epoch.Number, agent)); err != nil {
			return err
		}
		if err := takeIf(ctx, bucket, f, from.Imitation(epoch.Number, agent)); err != nil {
			return err
		}
		rows, err := from.RowsOut(ctx, bucket, epoch.Number, agent)
		if err != nil {
			return err
		}
		for i := range rows {
			f.take(from.RowOut(epoch.Number, agent, i+1).Key)
		}
	}

	return nil
}

// listVal adds the evaluation on val by which an epoch was judged.
func (f *Fork) listVal(ctx context.Context, bucket store.Bucket, epoch runs.Epoch) error {
	from := runs.Run(f.Origin.Run)
	id := rules.EvalID(rules.EpochFolder(epoch.Number), rules.TrainedName(f.spec.Agents), domain.SplitVal)
	f.take(from.Result(id).Key)
	for n := 1; n <= epoch.Val.Episodes+epoch.Val.Missing; n++ {
		if err := takeIf(ctx, bucket, f, from.EvalEpisode(id, n)); err != nil {
			return err
		}
	}

	return nil
}
