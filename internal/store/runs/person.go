package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// Decision says which person decided something about a run, when, and why.
type Decision struct {
	Who string    `json:"who"`
	Why string    `json:"why"`
	At  time.Time `json:"at"`
}

// Failed returns the ends of the slots of an epoch that have failed, in order.
func (r Run) Failed(ctx context.Context, b store.Bucket, epoch int) ([]Episode, error) {
	slots, _, err := r.Slots(epoch).Read(ctx, b)
	if err != nil {
		return nil, err
	}
	var out []Episode
	for i := range slots.Slots {
		e, _, err := r.Episode(ctx, b, epoch, i+1)
		if errors.Is(err, store.ErrNotFound) { // it has not ended
			continue
		}
		if err != nil {
			return nil, err
		}
		if e.Failed != "" {
			out = append(out, e)
		}
	}

	return out, nil
}

// leftOut begins the reason of a slot that a person skipped.
const leftOut = "left out by "

// Retry begins the next attempt at every failed slot of an epoch that no person left out, with the task that was
// planned, and returns the slots. It is an invalid fault once agents are trained on the epoch. It may be repeated.
func (r Run) Retry(ctx context.Context, b store.Bucket, epoch int) ([]int, error) {
	trained, err := r.Keys(ctx, b, fmt.Sprintf("epochs/%04d/agents/", epoch))
	if err != nil {
		return nil, err
	}
	if len(trained) > 0 {
		return nil, fault.New(fault.Invalid, "the agents are trained on epoch %d already: its slots cannot be retried",
			epoch)
	}
	failed, err := r.Failed(ctx, b, epoch)
	if err != nil {
		return nil, err
	}
	slots, _, err := r.Slots(epoch).Read(ctx, b)
	if err != nil {
		return nil, err
	}
	var out []int
	for _, e := range failed {
		if strings.HasPrefix(e.Failed, leftOut) {
			continue
		}
		n := e.Slot.Number
		next := Start{By: slots.By, Slot: slots.Slots[n-1], Attempt: e.Attempt + 1}
		start := r.Start(epoch, n, next.Attempt)
		if _, _, err := start.Record(ctx, b, func() (Start, error) { return next, nil }); err != nil {
			return out, err
		}
		out = append(out, n)
	}

	return out, nil
}

// Skip records that a slot has failed because a person leaves it out. It is an invalid fault if the slot has ended
// already. It may be repeated.
func (r Run) Skip(ctx context.Context, b store.Bucket, epoch, slot int, d Decision) error {
	slots, _, err := r.Slots(epoch).Read(ctx, b)
	if errors.Is(err, store.ErrNotFound) || err == nil && (slot < 1 || slot > len(slots.Slots)) {
		return fault.New(fault.Invalid, "run %s has no slot %d in epoch %d", r, slot, epoch)
	}
	if err != nil {
		return err
	}
	_, ref, err := r.Topology(epoch).Read(ctx, b)
	if err != nil {
		return err
	}

	for attempt := 1; ; attempt++ {
		skipped := Episode{
			By: slots.By, Slot: slots.Slots[slot-1], Attempt: attempt, System: slots.System.Version, Topology: ref,
			Failed: fmt.Sprintf(leftOut+"%s: %s", d.Who, d.Why),
		}
		e, _, err := r.Attempt(epoch, slot, attempt).Record(ctx, b, func() (Episode, error) { return skipped, nil })
		switch {
		case err != nil:
			return err
		case e.Void != "":
		case e.Failed != "":
			if again, err := r.Start(epoch, slot, attempt+1).Exists(ctx, b); err != nil || !again {
				return err
			}
		default:
			return fault.New(fault.Invalid, "slot %d of epoch %d has an episode already", slot, epoch)
		}
	}
}

// SkipUpdate records that an agent keeps its parent policy in an epoch because a person leaves its update out. It is an
// invalid fault if the agent has no data set in that epoch yet, or if its update has ended already. It may be repeated.
func (r Run) SkipUpdate(ctx context.Context, b store.Bucket, epoch, agent int, d Decision) error {
	slots, _, err := r.Slots(epoch).Read(ctx, b)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	_, dataset, found := r.Dataset(epoch, agent).Read(ctx, b)
	if found != nil && !errors.Is(found, store.ErrNotFound) {
		return found
	}
	if err != nil || found != nil || agent >= len(slots.System.Policies) {
		return fault.New(fault.Invalid, "agent %d of run %s has no update in epoch %d that could be left out",
			agent, r, epoch)
	}
	standing, err := r.Standing(ctx, b, epoch-1, len(slots.System.Policies))
	if err != nil {
		return err
	}
	parent := standing.Policies[agent]
	skipped := Update{
		By: slots.By, Agent: agent, Parent: parent, Policy: parent, Dataset: dataset,
		Kept: fmt.Sprintf(leftOut+"%s: %s", d.Who, d.Why),
	}
	u, _, err := r.Update(epoch, agent).Record(ctx, b, func() (Update, error) { return skipped, nil })
	if err == nil && !strings.HasPrefix(u.Kept, leftOut) {
		err = fault.New(fault.Invalid, "the update of agent %d in epoch %d has ended already", agent, epoch)
	}

	return err
}

// SkipRow records that a row of an agent's data set, from 1, is left out of the agent's update because a person decides
// so. It is an invalid fault if there is no such row yet, or if the update has ended already. It may be repeated.
func (r Run) SkipRow(ctx context.Context, b store.Bucket, epoch, agent, row int, d Decision) error {
	set, _, err := r.Dataset(epoch, agent).Read(ctx, b)
	if errors.Is(err, store.ErrNotFound) || err == nil && row > set.Count {
		return fault.New(fault.Invalid, "run %s has no row %d of agent %d in epoch %d", r, row, agent, epoch)
	}
	if err != nil {
		return err
	}
	_, _, err = r.RowOut(epoch, agent, row).Record(ctx, b, func() (Decision, error) { return d, nil })
	if err != nil {
		return err
	}
	u, _, err := r.Update(epoch, agent).Read(ctx, b)
	if errors.Is(err, store.ErrNotFound) || err == nil && slices.Contains(u.Without, row) {
		return nil
	}
	if err == nil {
		err = fault.New(fault.Invalid, "the update of agent %d in epoch %d has ended already, with row %d",
			agent, epoch, row)
	}

	return err
}

// RowsOut returns the rows of an agent's data set that people left out of its update, in order.
func (r Run) RowsOut(ctx context.Context, b store.Bucket, epoch, agent int) ([]int, error) {
	prefix := r.rowsOut(epoch, agent)
	all, err := b.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	var out []int
	for _, o := range all {
		row, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(o.Key, prefix), ".json"))
		if err != nil {
			return nil, fault.New(fault.Corrupt, "%s: it names no row", o.Key)
		}
		out = append(out, row)
	}
	slices.Sort(out)

	return out, nil
}
