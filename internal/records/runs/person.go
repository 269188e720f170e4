package runs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// Decision records who decided something about a run, when, and why.
type Decision struct {
	Who string    `json:"who"`
	Why string    `json:"why"`
	At  time.Time `json:"at"`
}

// Failed returns the ends of an epoch's failed slots, in order. It returns no slots if the epoch has not begun.
func (r Run) Failed(ctx context.Context, bucket store.Bucket, epoch int) ([]Episode, error) {
	slots, _, err := r.Slots(epoch).May(ctx, bucket)
	if err != nil {
		return nil, err
	}
	var out []Episode
	for i := range slots.Slots {
		episode, _, err := r.MayEpisode(ctx, bucket, epoch, i+1)
		if err != nil {
			return nil, err
		}
		if episode.Failed != "" {
			out = append(out, episode)
		}
	}

	return out, nil
}

// leftOut is the beginning of the reason for a slot that a person skipped.
const leftOut = "left out by "

// Retry begins the next attempt at every failed slot of an epoch except those that people left out, with the planned
// task, and returns the slots. It returns an invalid fault once agents are trained on the epoch. It may be repeated.
func (r Run) Retry(ctx context.Context, bucket store.Bucket, epoch int) ([]int, error) {
	slots, begun, err := r.Slots(epoch).Sure(ctx, bucket)
	if err != nil || !begun {
		return nil, err
	}
	for agent := range slots.System.Policies {
		_, exists, err := r.Dataset(epoch, agent).Sure(ctx, bucket)
		if err != nil {
			return nil, err
		}
		if exists {
			return nil, fault.New(fault.Invalid,
				"the agents are trained on epoch %d already: its slots cannot be retried", epoch)
		}
	}
	failed, err := r.Failed(ctx, bucket, epoch)
	if err != nil {
		return nil, err
	}
	var out []int
	for _, episode := range failed {
		if strings.HasPrefix(episode.Failed, leftOut) {
			continue
		}
		n := episode.Slot.Number
		next := Start{By: slots.By, Slot: slots.Slots[n-1], Attempt: episode.Attempt + 1}
		start := r.Start(epoch, n, next.Attempt)
		if _, _, err := start.Record(ctx, bucket, func() (Start, error) { return next, nil }); err != nil {
			return out, err
		}
		out = append(out, n)
	}

	return out, nil
}

// Skip records that a slot has failed because a person leaves it out. It returns an invalid fault if the slot has ended
// already. It may be repeated.
func (r Run) Skip(ctx context.Context, b store.Bucket, epoch, slot int, decision Decision) error {
	slots, _, err := r.Slots(epoch).Sure(ctx, b)
	if err != nil {
		return err
	}
	if slot < 1 || slot > len(slots.Slots) { // empty if the epoch has not begun
		return fault.New(fault.Invalid, "run %s has no slot %d in epoch %d", r, slot, epoch)
	}
	_, ref, err := r.Topology(epoch).Must(ctx, b)
	if err != nil {
		return err
	}

	for attempt := 1; ; attempt++ {
		skipped := Episode{
			By: slots.By, Slot: slots.Slots[slot-1], Attempt: attempt, System: slots.System.Version, Topology: ref,
			Failed: fmt.Sprintf(leftOut+"%s: %s", decision.Who, decision.Why),
		}
		e, _, err := r.Attempt(epoch, slot, attempt).Record(ctx, b, func() (Episode, error) { return skipped, nil })
		switch {
		case err != nil:
			return err
		case e.Void != "":
		case e.Failed != "":
			if retried, err := r.Again(ctx, b, epoch, slot, attempt); err != nil || !retried {
				return err
			}
		default:
			return fault.New(fault.Invalid, "slot %d of epoch %d has an episode already", slot, epoch)
		}
	}
}

// SkipUpdate records that an agent keeps its parent policy in an epoch because a person leaves its update out. It
// returns an invalid fault if the agent has no data set yet, or if its update has ended already. It may be repeated.
func (r Run) SkipUpdate(ctx context.Context, bucket store.Bucket, epoch, agent int, decision Decision) error {
	slots, _, err := r.Slots(epoch).Sure(ctx, bucket)
	if err != nil {
		return err
	}
	_, gathered, err := r.Dataset(epoch, agent).Sure(ctx, bucket)
	if err != nil {
		return err
	}
	if !gathered || agent >= len(slots.System.Policies) {
		return fault.New(fault.Invalid, "agent %d of run %s has no update in epoch %d that could be left out",
			agent, r, epoch)
	}
	_, dataset, err := r.Dataset(epoch, agent).Must(ctx, bucket)
	if err != nil {
		return err
	}
	standing, err := r.Standing(ctx, bucket, epoch-1, len(slots.System.Policies))
	if err != nil {
		return err
	}
	parent := standing.Policies[agent]
	skipped := Update{
		By: slots.By, Agent: agent, Parent: parent, Policy: parent, Dataset: dataset,
		Kept: fmt.Sprintf(leftOut+"%s: %s", decision.Who, decision.Why),
	}
	update, _, err := r.Update(epoch, agent).Record(ctx, bucket, func() (Update, error) { return skipped, nil })
	if err == nil && !strings.HasPrefix(update.Kept, leftOut) {
		err = fault.New(fault.Invalid, "the update of agent %d in epoch %d has ended already", agent, epoch)
	}

	return err
}

// SkipRow records that a row of an agent's data set, from 1, is left out of the agent's update because a person decided
// so. It returns an invalid fault if there is no such row yet, or if the update has ended already. It may be repeated.
func (r Run) SkipRow(ctx context.Context, bucket store.Bucket, epoch, agent, row int, decision Decision) error {
	set, _, err := r.Dataset(epoch, agent).Sure(ctx, bucket)
	if err != nil {
		return err
	}
	if row > set.Count { // 0 if there is no data set
		return fault.New(fault.Invalid, "run %s has no row %d of agent %d in epoch %d", r, row, agent, epoch)
	}
	out := RowOut{Row: row, Decision: decision}
	for n := 1; ; n++ {
		got, _, err := r.RowOut(epoch, agent, n).Record(ctx, bucket, func() (RowOut, error) { return out, nil })
		if err != nil {
			return err
		}
		if got.Row == row {
			break
		}
	}
	update, ended, err := r.Update(epoch, agent).Sure(ctx, bucket)
	if err == nil && ended && !slices.Contains(update.Without, row) {
		err = fault.New(fault.Invalid, "the update of agent %d in epoch %d has ended already, with row %d",
			agent, epoch, row)
	}

	return err
}

// RowOut is a person's decision to leave a row of a data set, from 1, out of an update.
type RowOut struct {
	Row int `json:"row"`
	Decision
}

// RowsOut returns the rows of an agent's data set that people left out of its update, in order.
func (r Run) RowsOut(ctx context.Context, bucket store.Bucket, epoch, agent int) ([]int, error) {
	all, err := Log[RowOut](func(n int) Object[RowOut] { return r.RowOut(epoch, agent, n) }).After(ctx, bucket, 0, 0)
	out := make([]int, len(all))
	for i, rowOut := range all {
		out[i] = rowOut.Row
	}
	slices.Sort(out)

	return out, err
}
