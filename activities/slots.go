package activities

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// EpochID names an epoch of a run and contains what its workflow knows of the run.
type EpochID struct {
	Run     string
	Epoch   int
	Changes int `json:",omitempty"` // the number of changes by people that exist at least
}

// SlotID names a slot of a run.
type SlotID struct {
	Run   string
	Epoch int
	Slot  int
}

// EpochSlots is what all rollouts of an epoch begin with, and what their labels and pairs need. It is written once.
type EpochSlots struct {
	Slots       runs.Slots
	Topology    domain.Topology
	TopologyRef store.Ref
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
