package activities

import (
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
