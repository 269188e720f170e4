// Package agents implements the system of agents that decides each step of an episode: their prompts, their rounds over
// a directed acyclic graph, and the vote that yields one action (docs/method.md, Decision).
//
// It does no I/O.
package agents

import (
	"slices"

	"github.com/collabui/collabui/domain"
)

// Config configures how a system decides.
type Config struct {
	Policies    []string        `json:"policies"` // one per agent
	Topology    domain.Topology `json:"topology"`
	Rounds      int             `json:"rounds"`
	Temperature []float64       `json:"temperature"` // one per agent
	TopP        float64         `json:"top_p"`
	MaxTokens   int             `json:"max_tokens"`
	VoteScope   VoteScope       `json:"vote_scope"`

	// Early skips cells that can no longer change the vote. Evaluation sets it.
	Early bool `json:"early"`

	// Answers specifies how the agents' answers are read.
	Answers Parsing `json:"answers,omitempty"`

	// Views specifies what each agent sees of a screen. Agents beyond Regions see the regions again, from the first.
	Views    Views  `json:"views,omitzero"`
	Regions  int    `json:"regions,omitempty"`   // number of parts into which Views divides a screen
	ViewSeed uint64 `json:"view_seed,omitempty"` // deals the parts; constant in an episode

	// Speech lets agents speak instead of acting: tell, point and pass.
	Speech bool `json:"speech,omitempty"`
	// Notes keeps what agents write in a line "Note:" of their answers in the history.
	Notes bool `json:"notes,omitempty"`
	// Reads specifies whose messages an agent reads; empty means ReadDAG.
	Reads Reads `json:"reads,omitempty"`

	// Template renders the prompts. If it is nil, Default is used.
	Template *Template `json:"-"`

	// Heard returns the message that peers read in place of a cell's text. If it is nil, they read the text.
	Heard func(cell domain.Cell) string `json:"-"`
}

// VoteScope specifies which cells vote.
type VoteScope string

// Vote scopes.
const (
	ScopeAll  VoteScope = "all_rounds"
	ScopeLast VoteScope = "last_round"
)

// Reads specifies whose messages an agent reads.
type Reads string

// Values of Reads.
const (
	ReadDAG  Reads = "dag"  // its predecessors' messages of the same round
	ReadBack Reads = "back" // also its successors' messages of the previous round
)

// Winner returns the vote of a decision that counts under the scope.
func (s VoteScope) Winner(decision domain.Decision) domain.Vote {
	if s == ScopeLast {
		return decision.LastOnly
	}

	return decision.AllRound
}

// template returns the configured template, or Default.
func (c Config) template() *Template {
	if c.Template == nil {
		return Default
	}

	return c.Template
}

// message returns the text of a cell that peers read.
func (c Config) message(cell domain.Cell) string {
	if c.Heard != nil {
		return c.Heard(cell)
	}

	return cell.Text
}

// Source is a cell whose message an agent reads.
type Source struct{ Agent, Round int }

// Sources returns the cells whose messages an agent reads in a round, by agent: its predecessors in the same round and,
// with ReadBack, its successors in the previous round. Reading never forms a cycle, because every cell reads only cells
// of earlier speakers or rounds.
func (c Config) Sources(agent, round int) []Source {
	var out []Source
	for other := range c.Topology.Agents {
		switch {
		case slices.Contains(c.Topology.Edges, [2]int{other, agent}):
			out = append(out, Source{Agent: other, Round: round})
		case c.Reads == ReadBack && round > 0 && slices.Contains(c.Topology.Edges, [2]int{agent, other}):
			out = append(out, Source{Agent: other, Round: round - 1})
		}
	}

	return out
}

// AgentViews returns the view of each agent of what all of them together see.
func (c Config) AgentViews(view View) []View {
	out := slices.Repeat([]View{view}, len(c.Policies))
	dealt := c.Dealt(view.Observation)
	for agent := range out {
		if dealt != nil {
			out[agent].Seen = dealt[agent%len(dealt)]
		}
		if view.Parts != nil {
			out[agent].Picture = view.Parts[agent%len(view.Parts)]
			out[agent].Parts = nil
		}
	}

	return out
}

// Dealt returns the indices of the elements of each part of a screen. It returns nil if all agents see the whole
// screen.
func (c Config) Dealt(screen domain.Observation) [][]int {
	parts := c.Regions
	if parts == 0 {
		parts = len(c.Policies)
	}

	return c.Views.Deal(screen, parts, c.ViewSeed)
}
