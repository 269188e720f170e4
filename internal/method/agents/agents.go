// Package agents is the system of agents that decides each step of an episode: their prompts, their rounds over a
// directed acyclic graph, and the vote that yields one action (docs/method.md, Decision).
//
// It does no I/O.
package agents

import "github.com/collabui/collabui/domain"

// Config configures how a system decides.
type Config struct {
	Policies    []string        `json:"policies"` // one per agent
	Topology    domain.Topology `json:"topology"`
	Rounds      int             `json:"rounds"`
	Temperature []float64       `json:"temperature"` // one per agent
	TopP        float64         `json:"top_p"`
	MaxTokens   int             `json:"max_tokens"`
	VoteScope   VoteScope       `json:"vote_scope"`

	// Early leaves out cells that can no longer change the vote. Evaluation sets it.
	Early bool `json:"early"`

	// Answers is how the agents' answers are read.
	Answers Parsing `json:"answers,omitempty"`

	// Template is the prompt; nil means Default.
	Template *Template `json:"-"`

	// Heard returns what is read instead of what an agent said in a round; nil means what it said.
	Heard func(agent, round int) string `json:"-"`
}

// VoteScope says which cells vote.
type VoteScope string

// Vote scopes.
const (
	ScopeAll  VoteScope = "all_rounds"
	ScopeLast VoteScope = "last_round"
)

// Winner returns the vote that counts.
func (s VoteScope) Winner(decision domain.Decision) domain.Vote {
	if s == ScopeLast {
		return decision.LastOnly
	}

	return decision.AllRound
}

// template returns the prompt that applies.
func (c Config) template() *Template {
	if c.Template == nil {
		return Default
	}

	return c.Template
}

// message returns what peers read of a cell.
func (c Config) message(cell domain.Cell) string {
	if c.Heard != nil {
		return c.Heard(cell.Agent, cell.Round)
	}

	return cell.Text
}
