package epoch

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// assembly is an epoch while its parts are read.
type assembly struct {
	bucket store.Bucket
	run    runs.Run
	epoch  runs.Epoch
	parts  *runs.EpochParts
	pairs  map[int]int // number of pairs by agent

	before runs.System // the updates began with it

	labels      credit.LabelCounts
	quarantined int // templates that are left out
}

// readPlan reads the parent commit, the topology and the slots.
func (a *assembly) readPlan(ctx context.Context, agents int) error {
	number := a.epoch.Number
	var err error
	a.parts.Topology, a.epoch.Topology, err = a.run.Topology(number).Must(ctx, a.bucket)
	if err != nil {
		return err
	}
	slots, ref, err := a.run.Slots(number).Must(ctx, a.bucket)
	if err != nil {
		return err
	}
	a.epoch.Slots = ref
	a.parts.Slots = slots.Slots

	if number > 1 {
		parent, ref, err := a.run.Epoch(number-1).Must(ctx, a.bucket)
		a.epoch.Parent = ref
		a.parts.Parent = parent.Digest
		a.before = parent.System

		return err
	}
	base, ref, err := a.run.Base().Must(ctx, a.bucket)
	if err != nil {
		return err
	}
	a.epoch.Parent = ref
	a.parts.Parent = base.Policy.Tensor
	a.before, err = a.run.Standing(ctx, a.bucket, 0, agents)

	return err
}

// slotParts are the records of a slot. A failed slot has neither labels nor pairs.
type slotParts struct {
	refs    runs.SlotRefs
	episode runs.Episode
	labels  []domain.Credit
	pairs   []domain.Example
}

// readSlots reads the records of every slot.
func (a *assembly) readSlots(ctx context.Context) error {
	slots := len(a.parts.Slots)
	wins := 0
	var cells domain.Outcome // of all slots
	err := store.InOrder(ctx, slots, a.readSlot, func(i int, slot slotParts) error {
		endpoints.Progress(ctx, fmt.Sprintf("%d of %d slots are read", i+1, slots))
		a.epoch.Episodes = append(a.epoch.Episodes, slot.refs)
		a.parts.Episodes = append(a.parts.Episodes, slot.episode.Digest)
		a.parts.Labels = append(a.parts.Labels, slot.labels)
		cells.Cut += slot.episode.Outcome.Cut
		cells.Refused += slot.episode.Outcome.Refused
		cells.Repaired += slot.episode.Outcome.Repaired
		if slot.episode.Outcome.Success {
			wins++
		}
		if slot.episode.Failed != "" {
			a.epoch.FailedAll++
		}
		a.labels = a.labels.Plus(credit.CountLabels(slot.labels))
		a.epoch.Pairs += len(slot.pairs)
		for _, pair := range slot.pairs {
			a.pairs[pair.Agent]++
		}

		return a.parts.AddPairs(slot.pairs)
	})
	failed := a.epoch.FailedAll
	result := runs.NewResult("rollouts", domain.SplitTrain, wins, slots-failed, failed, "training")
	result.Cut = cells.Cut
	result.Refused = cells.Refused
	result.Repaired = cells.Repaired
	a.epoch.Rollouts = result

	return err
}

// readSlot reads the episode, labels and pairs of slot i, from 0.
func (a *assembly) readSlot(ctx context.Context, i int) (slotParts, error) {
	slot := slotParts{refs: runs.SlotRefs{Slot: i + 1}}
	refs := &slot.refs
	var err error
	slot.episode, refs.Episode, err = a.run.Episode(ctx, a.bucket, a.epoch.Number, i+1)
	if err != nil || slot.episode.Failed != "" {
		return slot, err
	}
	credits, creditRef, err := a.run.Credits(a.epoch.Number, i+1).Must(ctx, a.bucket)
	if err != nil {
		return slot, err
	}
	refs.Credit = creditRef
	slot.labels = credits.Steps
	pairs, pairsRef, err := a.run.Pairs(a.epoch.Number, i+1).Must(ctx, a.bucket)
	refs.Pairs = pairsRef
	slot.pairs = pairs.Pairs
	if err == nil && !(credits.Episode.Same(refs.Episode) && pairs.Episode.Same(refs.Episode) &&
		pairs.Credit.Same(refs.Credit)) {
		err = fault.New(fault.Corrupt, "%s and %s were not made of %s: delete them, then resume the run, which makes "+
			"them again", refs.Credit.Key, refs.Pairs.Key, refs.Episode.Key)
	}

	return slot, err
}

// readUpdates reads the update of every agent, and checks that its data set has all pairs of the epoch's episodes.
func (a *assembly) readUpdates(ctx context.Context, specification spec.Spec) error {
	a.epoch.System.Version = a.epoch.Number
	for agent := range specification.Agents {
		update, ref, err := a.run.Update(a.epoch.Number, agent).Must(ctx, a.bucket)
		if err != nil {
			return err
		}
		if err := a.checkDataset(ctx, specification, update); err != nil {
			return err
		}
		a.epoch.Updates = append(a.epoch.Updates, ref)
		a.epoch.System.Policies = append(a.epoch.System.Policies, update.Policy)
		a.parts.Tensors = append(a.parts.Tensors, update.Policy.Tensor)
	}

	return nil
}

// checkDataset checks that an update has as many pairs as the episodes.
func (a *assembly) checkDataset(ctx context.Context, specification spec.Spec, update runs.Update) error {
	dataset, _, err := store.Must[runs.Dataset](ctx, a.bucket, update.Dataset.Key)
	if err != nil {
		return err
	}
	want := a.pairs[dataset.Agent]
	if specification.Parameters == spec.ParametersShared {
		want = a.epoch.Pairs
	}
	if dataset.Count != want {
		return fault.New(fault.Corrupt, "%s has %d pairs, the epoch's episodes have %d: "+
			"delete the update and the data set, then resume the run", update.Dataset.Key, dataset.Count, want)
	}

	return nil
}
