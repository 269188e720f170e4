// Package interop converts the records of a run to files that other programs read: episodes to ATIF trajectories and
// Inspect logs, and parameters, curves and results to tables in CSV and JSON.
package interop

import (
	"fmt"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/records/runs"
)

// Episode is a stored episode with all records that were derived from it.
type Episode struct {
	Run      string
	Epoch    int
	Record   runs.Episode
	Rounds   int
	Topology domain.Topology
	Steps    []runs.Step
	Credits  *runs.Credits // nil if it is not graded yet
	Pairs    *runs.Pairs   // nil if it is not paired yet
	Void     []string      // why earlier attempts at the slot do not count, in order
	Message  string        // the agents' system message, or "" if it is unknown
	Policies []string      // digests of the agents' policies
}

// id returns the name of the episode, which is also its workflow's.
func (e Episode) id() string {
	return fmt.Sprintf("%s/epoch/%04d/episode/%04d", e.Run, e.Epoch, e.Record.Slot.Number)
}

// system returns the name of the system that played the episode.
func (e Episode) system() string { return fmt.Sprintf("%s@%d", e.Run, e.Record.System) }

// label returns the critic's label of a cell of step i, counted from 0, or nil if the cell has no label.
func (e Episode) label(i, cell int) *domain.Label {
	if e.Credits == nil || i >= len(e.Credits.Steps) || cell >= len(e.Credits.Steps[i].Labels) {
		return nil
	}

	return &e.Credits.Steps[i].Labels[cell]
}

// pairs counts the pairs of a cell.
func (e Episode) pairs(step int, cell domain.Cell) int {
	n := 0
	if e.Pairs != nil {
		for _, pair := range e.Pairs.Pairs {
			if pair.Step == step && pair.Agent == cell.Agent && pair.Round == cell.Round {
				n++
			}
		}
	}

	return n
}

// ending describes the outcome of an episode for people.
func ending(outcome domain.Outcome) string {
	switch {
	case outcome.Success:
		return "The episode ended: the task is solved."
	case outcome.Truncated:
		return "The episode ended: no steps are left."
	}

	return "The episode ended: the task is not solved."
}

// after returns the screen after step i, counted from 0, or the outcome of the episode after its last step.
func (e Episode) after(i int) string {
	if i+1 < len(e.Steps) {
		return screen(e.Steps[i+1].Observation)
	}

	return ending(e.Record.Outcome)
}

// screen returns the visible part of an observation, one line per element.
func screen(observation domain.Observation) string {
	return strings.Join(agents.Lines(observation), "\n")
}

// vote returns the vote that decided a step. Its winner is empty if no answer is an action.
func vote(step runs.Step) domain.Vote {
	d := step.Decision
	if won := d.Executed.Canonical(step.Observation); d.LastOnly.Canonical == won && d.AllRound.Canonical != won {
		return d.LastOnly
	}

	return d.AllRound
}

// verdict describes how an action was chosen.
func verdict(step runs.Step) string {
	v := vote(step)
	if v.Canonical == "" {
		return "No answer of any agent is an action, so nothing is executed."
	}

	return fmt.Sprintf("The vote chose %s with %d votes (%s).", v.Canonical, v.Votes, v.Rule)
}

// facts returns the figures of a cell for which no format has a field.
func (e Episode) facts(i, cell int) map[string]any {
	step := e.Steps[i]
	c := step.Decision.Cells[cell]
	out := map[string]any{"agent": c.Agent, "round": c.Round}
	put := func(key string, value any, known bool) {
		if known {
			out[key] = value
		}
	}
	if label := e.label(i, cell); label != nil {
		out["label"] = labels[*label]
	}
	put("canonical", c.Canonical, c.Canonical != "")
	put("won", c.Canonical == vote(step).Canonical, c.Canonical != "")
	put("parse_error", c.ParseError, c.ParseError != "")
	put("refused", c.Refused, c.Refused != "")
	put("logprob", c.LogProb, c.LogProb != 0)
	put("repaired", c.Repaired, len(c.Repaired) > 0)
	put("left_out", c.LeftOut, c.LeftOut.Any())
	put("elements_told", c.Told, len(c.Told) > 0)
	put("image", c.Image, c.Image != "")
	put("pairs", e.pairs(step.Number, c), e.Pairs != nil)

	return out
}

// labels are the names of a critic's labels.
var labels = map[domain.Label]string{domain.Positive: "right", domain.Negative: "wrong", domain.Uncertain: "uncertain"}

// task describes the task and its outcome.
func (e Episode) task() map[string]any {
	r := e.Record
	out := map[string]any{
		"run": e.Run, "epoch": e.Epoch, "slot": r.Slot.Number, "attempt": r.Attempt, "task": r.Slot.Task,
		"outcome": r.Outcome, "success": r.Outcome.Success, "digest": r.Digest,
		"agents": e.Topology.Agents, "rounds": e.Rounds, "edges": e.Topology.Edges, "policies": e.Policies,
	}
	if e.Credits != nil {
		out["critic"] = e.Credits.Critic
	}
	if e.Pairs != nil {
		out["pairs"] = len(e.Pairs.Pairs)
	}
	if len(e.Void) > 0 {
		out["void_attempts"] = e.Void
	}

	return out
}

// usage adds up the tokens of all cells.
func (e Episode) usage() (u domain.Usage) {
	for _, step := range e.Steps {
		for _, cell := range step.Decision.Cells {
			u = u.Plus(cell.Usage)
		}
	}

	return u
}
