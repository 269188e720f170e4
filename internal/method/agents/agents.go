// Package agents implements the system of agents that decides each step of an episode: their prompts, their rounds over
// a directed acyclic graph, and the vote that yields one action (docs/method.md, Decision).
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

	// Early skips cells that can no longer change the vote. Evaluation sets it.
	Early bool `json:"early"`

	// Answers specifies how the agents' answers are read.
	Answers Parsing `json:"answers,omitempty"`

	// Template renders the prompts. If it is nil, Default is used.
	Template *Template `json:"-"`

	// Heard returns the message that peers read in place of an agent's answer in a round. If it is nil, they read the
	// answer.
	Heard func(agent, round int) string `json:"-"`
}

// VoteScope specifies which cells vote.
type VoteScope string

// Vote scopes.
const (
	ScopeAll  VoteScope = "all_rounds"
	ScopeLast VoteScope = "last_round"
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
		return c.Heard(cell.Agent, cell.Round)
	}

	return cell.Text
}
