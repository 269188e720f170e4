package view

import (
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/records/runs"
)

// row is a line about an episode, for lists and filters.
type row struct {
	Slot      int     `json:"slot"`
	Template  string  `json:"template"`
	Goal      string  `json:"goal"`
	State     string  `json:"state"`
	Steps     int     `json:"steps"`
	Truncated bool    `json:"truncated,omitempty"`
	Void      int     `json:"void,omitempty"`    // earlier attempts that do not count
	Invalid   int     `json:"invalid,omitempty"` // steps at which nothing was executed
	Unparsed  int     `json:"unparsed,omitempty"`
	Refused   int     `json:"refused,omitempty"`
	Cut       int     `json:"cut,omitempty"`
	Repaired  int     `json:"repaired,omitempty"`
	Ties      int     `json:"ties,omitempty"`    // votes without one winner
	Changed   int     `json:"changed,omitempty"` // changed answers of agents that read others
	Labels    [3]int  `json:"labels"`            // cells labelled 1, 0 and ∅
	Wrong     []int   `json:"wrong,omitempty"`   // cells labelled 0, by agent
	Judged    int     `json:"judged,omitempty"`  // cells that critic and judge both label
	Against   int     `json:"against,omitempty"` // cells that both label, and differently
	Pairs     int     `json:"pairs,omitempty"`
	Tokens    int     `json:"tokens,omitempty"`   // of agents, critic and adversary
	Own       int     `json:"own,omitempty"`      // the part used by the agents in the rollout
	Money     float64 `json:"money,omitempty"`    // at the prices of the specification
	Surprise  float64 `json:"surprise,omitempty"` // largest −log π of an answer, in nats
	Why       string  `json:"why,omitempty"`      // why it failed
	Graded    bool    `json:"graded,omitempty"`

	// Messages are those with the largest effects, if effects are known.
	Messages []messageRow `json:"messages,omitempty"`
}

const (
	ruleMajority = "majority" // see domain.Vote
	goalShown    = 200        // characters of a goal in a list
)

// row returns the line that describes the episode.
func (e Episode) row() row {
	x := e.Episode
	r := row{
		Slot: x.Slot.Number, Template: x.Slot.Task.Template, Goal: agents.Line(x.Goal, goalShown), State: e.state(),
		Steps: len(e.Steps), Truncated: x.Outcome.Truncated, Void: len(e.Void), Invalid: x.Outcome.Invalid,
		Why: agents.Line(x.Failed, goalShown), Graded: e.Credits != nil, Wrong: make([]int, e.Topology.Agents),
	}
	for i, step := range e.Steps {
		r.Cut += step.Decision.Cut()
		r.Refused += step.Decision.Refused()
		r.Repaired += step.Decision.Repaired()
		if vote, _ := e.Vote(i); vote.Canonical != "" && vote.Rule != ruleMajority {
			r.Ties++
		}
		previous := map[int]string{}
		for j, cell := range step.Decision.Cells {
			r.addCell(cell, previous, e.reads(cell.Agent))
			if label, ok := e.Label(i, j); ok && cell.Prompt != "" {
				r.addLabel(cell.Agent, label)
			}
		}
	}
	if e.Credits != nil && len(e.Credits.Steps) == len(e.Steps) {
		check := credit.NewCheck()
		check.Add(plain(e.Steps), e.Credits.Steps, nil, x.Outcome.Success)
		rate, n := check.All.Agreement()
		r.Judged = n
		r.Against = n - int(rate*float64(n)+0.5)
	}
	if e.Pairs != nil {
		r.Pairs = len(e.Pairs.Pairs)
	}
	r.Messages = e.messageRows()
	for _, c := range e.roles() {
		r.Tokens = r.Tokens + c.Prompt + c.Answer
		r.Money += c.Money
	}

	return r
}

// reads reports whether an agent reads messages of others.
func (e Episode) reads(agent int) bool {
	config := agents.Config{Topology: e.Topology, Reads: e.spec.Reads}

	return len(config.Sources(agent, 1)) > 0
}

// addCell counts a cell. previous holds the answers of the previous round; reads reports whether the agent reads
// others.
func (r *row) addCell(cell domain.Cell, previous map[int]string, reads bool) {
	if cell.Prompt == "" {
		return
	}
	r.Tokens += cell.Usage.Prompt + cell.Usage.Answer
	r.Own += cell.Usage.Prompt + cell.Usage.Answer
	r.Surprise = max(r.Surprise, -cell.LogProb)
	if cell.Action == nil && cell.Refused == "" {
		r.Unparsed++
	}
	if before, ok := previous[cell.Agent]; ok && reads && cell.Round > 0 && before != cell.Canonical {
		r.Changed++
	}
	previous[cell.Agent] = cell.Canonical
}

func (r *row) addLabel(agent int, label domain.Label) {
	switch label {
	case domain.Positive:
		r.Labels[0]++
	case domain.Negative:
		r.Labels[1]++
		if agent < len(r.Wrong) {
			r.Wrong[agent]++
		}
	default:
		r.Labels[2]++
	}
}

func plain(steps []runs.Step) (out []domain.Step) {
	for _, step := range steps {
		out = append(out, step.Step)
	}

	return out
}
