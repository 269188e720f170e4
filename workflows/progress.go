package workflows

import (
	"cmp"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"
)

// Stages of a run, as Status and the search attribute CollabStage name them.
const (
	StagePlanning   = "planning"
	StageFineTuning = "fine-tuning"
	StageFineTuned  = "stage 1 is over"
	StageEpoch      = "epoch"
	StageEvaluation = "evaluation"
	StageDone       = "done"

	// StagePaused is the search attribute of a run that is paused, in any stage.
	StagePaused = "paused"
)

// Status answers the query "status" of a run.
type Status struct {
	Name   string `json:"name"`
	Stage  string `json:"stage"` // one of the stages above
	Epoch  int    `json:"epoch"`
	Epochs int    `json:"epochs"`
	Paused bool   `json:"paused"` // the run waits: for a person, or for a while after a fault of infrastructure
	Held   bool   `json:"held"`   // the run waits for a person
	// Stopping means that somebody stopped the run: it ends soon, or has ended.
	Stopping bool `json:"stopping,omitempty"`
	// StopAfter means that somebody stopped the run, and what it still waits for.
	StopAfter After   `json:"stop_after,omitempty"`
	Reason    string  `json:"reason,omitempty"` // why it is paused or stops, as `show` prints it
	Val       float64 `json:"val"`              // the newest success rate on val, 0 to 1; -1: none yet
	Child     string  `json:"child,omitempty"`  // id of the workflow that is running: it answers the query "progress"
	Next      string  `json:"next,omitempty"`   // id of the workflow of the next epoch's rollouts, if they began early
}

// Phases of a workflow, as Progress names them. A level job of stage 1 is its own phase, by its name.
const (
	PhaseDemonstrations = "demonstrations"
	PhaseExploration    = "exploration"
	PhaseSynthesis      = "synthesis"
	PhaseSFT            = "SFT"
	PhaseRollouts       = "rollouts"
	PhaseUpdates        = "updates"
	PhaseEvaluation     = "evaluation"
	PhaseCommit         = "commit"
)

// Progress answers the query "progress" of rollouts, shards, stage 1 and evaluations, and of a run while it trains and
// commits.
type Progress struct {
	Phase     string `json:"phase"`
	Slots     int    `json:"slots"` // episodes in all
	Done      int    `json:"done"`
	Successes int    `json:"successes"`
	Failed    int    `json:"failed"`
	Pairs     int    `json:"pairs"`
	Updates   int    `json:"updates"`
	Agents    int    `json:"agents"`
	Steps     int    `json:"steps,omitempty"` // optimiser steps of stage 1
	Child     string `json:"child,omitempty"` // id of the workflow that is running, which knows more

	// Shards are the ids of the workflows whose episodes are not counted yet. Each answers the query, too.
	Shards []string `json:"shards,omitempty"`

	Since time.Time `json:"since"`          // when the phase began
	Next  *Progress `json:"next,omitempty"` // rollouts of the next epoch beside the phase
}

// answerProgress answers the query "progress" of a workflow.
func answerProgress(ctx workflow.Context, progress *Progress) error {
	return workflow.SetQueryHandler(ctx, QueryProgress, func() (Progress, error) { return *progress, nil })
}

// Plays reports whether what the phase counts are episodes.
func (p Progress) Plays() bool {
	return p.Phase == PhaseRollouts || p.Phase == PhaseEvaluation
}

// Tally counts episodes.
type Tally struct {
	Done, Successes, Failed, Pairs int

	Why string `json:",omitempty"` // the first slot that failed, and why

	Cells, RefusedCells   int    `json:",omitempty"` // cells, and those whose prompts a model refused
	Graded, RefusedGrades int    `json:",omitempty"` // steps, and those about which the critic said nothing of use
	WhyRefused            string `json:",omitempty"` // slots that are examples of both
}

// add adds another tally.
func (t *Tally) add(more Tally) {
	t.Done += more.Done
	t.Successes += more.Successes
	t.Failed += more.Failed
	t.Pairs += more.Pairs
	t.Cells += more.Cells
	t.RefusedCells += more.RefusedCells
	t.Graded += more.Graded
	t.RefusedGrades += more.RefusedGrades
	t.Why = cmp.Or(t.Why, more.Why)
	t.WhyRefused = examples(t.WhyRefused, more.WhyRefused)
}

// examples returns two examples, or as many as there are.
func examples(one, more string) string {
	const and = " and in slot "
	more, _, _ = strings.Cut(more, and)
	if one == "" || more == "" || strings.Contains(one, and) {
		return cmp.Or(one, more)
	}

	return one + " and in " + more
}

// add counts the episodes of a tally.
func (p *Progress) add(tally Tally) {
	p.Done += tally.Done
	p.Successes += tally.Successes
	p.Failed += tally.Failed
	p.Pairs += tally.Pairs
}

// Add counts the episodes of a shard.
func (p *Progress) Add(shard Progress) {
	p.add(Tally{Done: shard.Done, Successes: shard.Successes, Failed: shard.Failed, Pairs: shard.Pairs})
}
