package runs

import (
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/store"
)

// Demonstration is one training task as the expert plays it.
type Demonstration struct {
	By
	Slot  domain.Slot      `json:"slot"`
	Pairs []domain.Example `json:"pairs"` // pairs without rejected answers

	Failed string `json:"failed,omitempty"` // why the task and its replacements could not be played
}

// Trajectory is one training task as the UI agent of stage 1 played it.
type Trajectory struct {
	By
	Slot    domain.Slot    `json:"slot"`
	Goal    string         `json:"goal"`
	Screens []synth.Screen `json:"screens"`
	Success bool           `json:"success"`

	Failed string `json:"failed,omitempty"` // why the task and its replacements could not be played
}

// LevelPlan lists the screens of a level, each as a trajectory and a place in it, and counts the others.
type LevelPlan struct {
	Level  int              `json:"level"`
	Picks  [][2]int         `json:"picks"`
	Counts synth.ItemCounts `json:"counts"` // screens only
}

// LevelSet is the data set of a level.
type LevelSet struct {
	Body store.Ref  `json:"body"` // a blob: JSON list of pairs
	Card synth.Card `json:"card"`
}

// Chunk is a piece of stage 1's training: a number of optimiser steps on demonstrations, or one stage of the levels.
// Number 0 is an imported policy.
type Chunk struct {
	By
	Number  int        `json:"number"`
	Stage   string     `json:"stage,omitempty"` // level job, if there are levels
	Steps   int        `json:"steps"`           // optimiser steps of all chunks so far
	Policy  Policy     `json:"policy"`
	Loss    float64    `json:"loss"`
	Skipped int        `json:"skipped,omitempty"` // pairs that the trainer cannot express
	Level   *store.Ref `json:"level,omitempty"`   // the data set

	Unplayed int `json:"unplayed,omitempty"` // training tasks that could not be played

	Report *domain.TrainReport `json:"report,omitempty"` // report of a trainer that ran another program

	Canaries *Canaries `json:"canaries,omitempty"` // of the policy
}

// Base is the result of stage 1.
type Base struct {
	Policy    Policy      `json:"policy"`
	Chunk     store.Ref   `json:"chunk"`
	Curve     []EvalPoint `json:"curve"` // success on val after each chunk
	InBand    bool        `json:"in_band"`
	StoppedBy string      `json:"stopped_by"`
	Unplayed  int         `json:"unplayed,omitempty"` // training tasks that could not be played
}
