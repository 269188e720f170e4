package runs

import "github.com/collabui/collabui/domain"

// EvalStep is one decision of an evaluated episode. Prompts are not kept: they follow from the specification and the
// screen, which a replay of the task shows again.
type EvalStep struct {
	// Screen is the digest of goal and observation.
	Screen string `json:"screen"`
	// Cells is the action matrix without the cells that were not asked for.
	Cells []EvalCell `json:"cells"`
	// AllRounds and LastRound are the votes in both scopes, each with the rule that decided it.
	AllRounds domain.Vote `json:"all_rounds"`
	LastRound domain.Vote `json:"last_round"`
}

// EvalCell is what an agent said in a round.
type EvalCell struct {
	Agent int    `json:"agent"`
	Round int    `json:"round"`
	Text  string `json:"text"`
	// Canonical is empty if the text does not parse.
	Canonical string       `json:"canonical,omitempty"`
	Usage     domain.Usage `json:"usage"`
}

// NewEvalStep returns the record of a decision about a screen.
func NewEvalStep(goal string, o domain.Observation, d domain.Decision) EvalStep {
	s := EvalStep{Screen: Digest([]any{goal, o}), AllRounds: d.AllRound, LastRound: d.LastOnly}
	for _, c := range d.Cells {
		if c.Prompt == "" {
			continue // not asked for: the vote was certain
		}
		s.Cells = append(s.Cells, EvalCell{
			Agent: c.Agent, Round: c.Round, Text: c.Text, Canonical: c.Canonical, Usage: c.Usage,
		})
	}

	return s
}

// Cost sums calls of the agents' policies and their tokens. It leaves out calls of a summariser, and calls whose
// answers came after the vote was certain.
type Cost struct {
	Calls int `json:"calls"`
	domain.Usage
}

// Plus returns the sum of both.
func (c Cost) Plus(d Cost) Cost { return Cost{Calls: c.Calls + d.Calls, Usage: c.Usage.Plus(d.Usage)} }

// PerSuccess returns the tokens, of prompts and answers, per success. It reports false without successes or without a
// recorded cost.
func (c Cost) PerSuccess(successes int) (float64, bool) {
	if successes == 0 || c.Calls == 0 {
		return 0, false
	}

	return float64(c.Prompt+c.Answer) / float64(successes), true
}

// Cost returns what the decisions of the episode took.
func (e EvalEpisode) Cost() Cost {
	var sum Cost
	for _, s := range e.Steps {
		for _, c := range s.Cells {
			sum = sum.Plus(Cost{Calls: 1, Usage: c.Usage})
		}
	}

	return sum
}
