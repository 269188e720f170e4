package activities

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/process/events"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// EpochSummary is a committed epoch in a few figures.
type EpochSummary struct {
	Epoch    int
	Rollouts float64 // success rate of the sampling policies on training tasks, 0 to 1
	Pairs    int
	Val      float64 // success rate on val of what the epoch made, 0 to 1; -1: not evaluated
	Kept     string  // why the agents go on with the policies before its updates
	Digest   string
	Failed   int // slots
}

// summary returns an epoch in a few figures.
func summary(e runs.Epoch) EpochSummary {
	sum := EpochSummary{
		Epoch: e.Number, Rollouts: e.Rollouts.Rate, Pairs: e.Pairs, Val: -1, Kept: e.Kept, Digest: e.Digest,
		Failed: e.FailedAll,
	}
	if e.Val != nil {
		sum.Val = e.Val.Rate
	}

	return sum
}

// PastEpochs is the number of epochs that the page of a run shows.
const PastEpochs = 20

// tellPast reads what the page of a run shows of its past.
func (c *Control) tellPast(ctx context.Context, run runs.Run, p *Plan) error {
	p.View = c.View
	base, there, err := run.Base().May(ctx, c.Bucket)
	if err != nil || !there {
		return err
	}
	if n := len(base.Curve); n > 0 {
		p.Stage1 = fmt.Sprintf("%d optimiser steps, one agent %.1f %% on val (%s)", base.Curve[n-1].At,
			100*base.Curve[n-1].Rate, base.StoppedBy)
	}
	for epoch := max(1, p.Committed-PastEpochs+1); epoch <= p.Committed; epoch++ {
		e, _, err := run.Epoch(epoch).Must(ctx, c.Bucket)
		if err != nil {
			return err
		}
		p.Past = append(p.Past, summary(e))
	}

	return nil
}

// CommitID names an epoch that is committed, and what its workflow knows of it.
type CommitID struct {
	EpochID

	// Evaluated means that the epoch's system was evaluated on val. Otherwise it was not for this execution of the
	// workflow, but may have been for an earlier one whose plan was another.
	Evaluated bool
}

// Commit writes epoch.json: the epoch exists when it does. All parts are read back and hashed in slot order.
func (c *Control) Commit(ctx context.Context, id CommitID) (EpochSummary, error) {
	return do(ctx, c.log(id.Run, "epoch", id.Epoch), func(ctx context.Context, _ say) (EpochSummary, error) {
		var a assembly // what was counted, if the epoch was not recorded before
		e, _, err := runs.Run(id.Run).Epoch(id.Epoch).Record(ctx, c.Bucket, func() (_ runs.Epoch, err error) {
			a, err = c.assemble(ctx, id)

			return a.epoch, err
		})
		if err != nil {
			return EpochSummary{}, err
		}

		sum := summary(e)
		c.Emit.send(id.Run, events.Epoch{
			Epoch: id.Epoch, Rollouts: sum.Rollouts, Pairs: sum.Pairs, Val: sum.Val, Kept: sum.Kept, Digest: sum.Digest,
			Positive: a.labels.PositiveShare(), Failed: sum.Failed, Quarantined: a.quarantined,
		})

		return sum, nil
	})
}

// assemble reads everything that belongs to an epoch.
func (c *Control) assemble(ctx context.Context, id CommitID) (a assembly, err error) {
	s, err := c.spec(ctx, id.Run, id.Epoch)
	if err != nil {
		return a, err
	}

	parts, err := runs.NewEpochParts()
	if err != nil {
		return a, err
	}
	defer parts.Close()
	a = assembly{
		bucket: c.Bucket, run: runs.Run(id.Run), epoch: runs.Epoch{Number: id.Epoch}, parts: parts,
		pairs: map[int]int{}, quarantined: len(s.Quarantine),
	}
	if err := a.readPlan(ctx, s.Agents); err != nil {
		return a, err
	}
	if err := a.readSlots(ctx); err != nil {
		return a, err
	}
	if err := a.readUpdates(ctx, s); err != nil {
		return a, err
	}

	if err := c.judge(ctx, s, id.Evaluated, &a); err != nil {
		return a, err
	}
	accepted, there, err := a.run.Accepted(id.Epoch).Sure(ctx, c.Bucket)
	if err != nil {
		return a, err
	}
	if there {
		a.epoch.Accepted = accepted.Who + ": " + accepted.Why
	}
	a.epoch.Digest, err = parts.Digest()

	return a, err
}

// judge reads what the epoch's system reached on val, if it was evaluated, and goes back to the system that the epoch's
// updates began with if that was better.
func (c *Control) judge(ctx context.Context, s spec.Spec, evaluated bool, a *assembly) error {
	recorded := valResult(s.Name, a.epoch.Number, rules.TrainedName(s.Agents))
	if !evaluated {
		var err error
		if _, evaluated, err = recorded.Sure(ctx, c.Bucket); err != nil || !evaluated {
			return err
		}
	}
	val, _, err := recorded.Must(ctx, c.Bucket)
	if err != nil {
		return err
	}
	a.epoch.Val = &val

	parent, err := c.valOf(ctx, s, a.before.Version)
	if err != nil || parent == nil { // evaluation.every leaves out epochs
		return err
	}
	then, err := c.spec(ctx, s.Name, a.before.Version)
	if err != nil || !rules.SameVal(s, then) {
		return err
	}
	if a.epoch.Kept = rules.Rollback(s.Gates, val.Rate, parent.Rate); a.epoch.Kept != "" {
		a.epoch.System, a.parts.Kept = a.before, a.epoch.Kept
	}

	return nil
}

// assembly is an epoch while its parts are read.
type assembly struct {
	bucket store.Bucket
	run    runs.Run
	epoch  runs.Epoch
	parts  *runs.EpochParts
	pairs  map[int]int // number of pairs by agent

	before runs.System // the one that the updates began with

	labels      credit.LabelCounts
	quarantined int // templates that are left out
}

// readPlan reads the parent commit, the topology and the slots. There are some agents.
func (a *assembly) readPlan(ctx context.Context, agents int) error {
	n := a.epoch.Number
	topology, ref, err := a.run.Topology(n).Must(ctx, a.bucket)
	if err != nil {
		return err
	}
	a.epoch.Topology, a.parts.Topology = ref, topology

	slots, ref, err := a.run.Slots(n).Must(ctx, a.bucket)
	if err != nil {
		return err
	}
	a.epoch.Slots, a.parts.Slots = ref, slots.Slots

	if n > 1 {
		parent, ref, err := a.run.Epoch(n-1).Must(ctx, a.bucket)
		a.epoch.Parent, a.parts.Parent, a.before = ref, parent.Digest, parent.System

		return err
	}
	base, ref, err := a.run.Base().Must(ctx, a.bucket)
	if err != nil {
		return err
	}
	a.epoch.Parent, a.parts.Parent = ref, base.Policy.Tensor
	a.before, err = a.run.Standing(ctx, a.bucket, 0, agents)

	return err
}

// slotParts is what became of a slot. A failed slot has neither labels nor pairs.
type slotParts struct {
	refs    runs.SlotRefs
	episode runs.Episode
	labels  []domain.Credit
	pairs   []domain.Pair
}

// readSlots reads what became of every slot.
func (a *assembly) readSlots(ctx context.Context) error {
	n, wins := len(a.parts.Slots), 0
	result := &a.epoch.Rollouts
	err := store.InOrder(ctx, n, a.readSlot, func(i int, s slotParts) error {
		endpoints.Progress(ctx, fmt.Sprintf("%d of %d slots are read", i+1, n))
		a.epoch.Episodes = append(a.epoch.Episodes, s.refs)
		a.parts.Episodes = append(a.parts.Episodes, s.episode.Digest)
		a.parts.Labels = append(a.parts.Labels, s.labels)
		result.Cut += s.episode.Outcome.Cut
		result.Refused += s.episode.Outcome.Refused
		result.Repaired += s.episode.Outcome.Repaired
		if s.episode.Outcome.Success {
			wins++
		}
		if s.episode.Failed != "" {
			a.epoch.FailedAll++
		}
		a.labels = a.labels.Plus(credit.CountLabels(s.labels))
		a.epoch.Pairs += len(s.pairs)
		for _, p := range s.pairs {
			a.pairs[p.Agent]++
		}

		return a.parts.AddPairs(s.pairs)
	})
	counted, failed := *result, a.epoch.FailedAll
	*result = runs.NewResult("rollouts", domain.SplitTrain, wins, n-failed, failed, "training")
	result.Cut, result.Refused, result.Repaired = counted.Cut, counted.Refused, counted.Repaired

	return err
}

// readSlot reads the episode, labels and pairs of slot i, from 0.
func (a *assembly) readSlot(ctx context.Context, i int) (s slotParts, err error) {
	s.refs.Slot = i + 1
	s.episode, s.refs.Episode, err = a.run.Episode(ctx, a.bucket, a.epoch.Number, i+1)
	if err != nil || s.episode.Failed != "" {
		return s, err
	}
	credits, ref, err := a.run.Credits(a.epoch.Number, i+1).Must(ctx, a.bucket)
	if err != nil {
		return s, err
	}
	s.refs.Credit, s.labels = ref, credits.Steps
	pairs, ref, err := a.run.Pairs(a.epoch.Number, i+1).Must(ctx, a.bucket)
	s.refs.Pairs, s.pairs = ref, pairs.Pairs
	if err == nil && !(credits.Episode.Same(s.refs.Episode) && pairs.Episode.Same(s.refs.Episode) &&
		pairs.Credit.Same(s.refs.Credit)) {
		err = fault.New(fault.Corrupt, "%s and %s were not made of %s: delete them, then resume the run, which makes "+
			"them again", s.refs.Credit.Key, s.refs.Pairs.Key, s.refs.Episode.Key)
	}

	return s, err
}

// readUpdates reads the update of every agent, and checks that its data set has all pairs of the epoch's episodes.
func (a *assembly) readUpdates(ctx context.Context, s spec.Spec) error {
	a.epoch.System.Version = a.epoch.Number
	for agent := range s.Agents {
		u, ref, err := a.run.Update(a.epoch.Number, agent).Must(ctx, a.bucket)
		if err != nil {
			return err
		}
		if err := a.checkDataset(ctx, s, u); err != nil {
			return err
		}
		a.epoch.Updates = append(a.epoch.Updates, ref)
		a.epoch.System.Policies = append(a.epoch.System.Policies, u.Policy)
		a.parts.Tensors = append(a.parts.Tensors, u.Policy.Tensor)
	}

	return nil
}

// checkDataset checks that an update has as many pairs as the episodes.
func (a *assembly) checkDataset(ctx context.Context, s spec.Spec, u runs.Update) error {
	d, _, err := store.Must[runs.Dataset](ctx, a.bucket, u.Dataset.Key)
	if err != nil {
		return err
	}
	want := a.pairs[d.Agent]
	if s.Parameters == spec.ParametersShared {
		want = a.epoch.Pairs
	}
	if d.Count != want {
		return fault.New(fault.Corrupt, "%s has %d pairs, the epoch's episodes have %d: "+
			"delete the update and the data set, then resume the run", u.Dataset.Key, d.Count, want)
	}

	return nil
}
