package runs

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/store"
)

// EvalStep is one decision of an evaluated episode. Prompts are not kept: they follow from the specification and the
// screen.
type EvalStep struct {
	// Screen is the digest of goal and observation.
	Screen string `json:"screen"`
	// Observation is the content of the screen.
	Observation *domain.Observation `json:"observation,omitempty"`
	// Image is the screenshot, if the specification keeps any.
	Image *store.Ref `json:"image,omitempty"`
	// Touch is where the previous step's action touched the screen. It is missing in older records and if the
	// environment does not know the place.
	Touch *domain.Touch `json:"touch,omitempty"`
	// Seen holds, for each agent, the indices of the elements of its view, if agents saw different ones.
	Seen [][]int `json:"seen,omitempty"`
	// Cells is the action matrix without the cells that were skipped.
	Cells []EvalCell `json:"cells"`
	// AllRounds and LastRound are the votes in both scopes, each with the rule that decided it.
	AllRounds domain.Vote `json:"all_rounds"`
	LastRound domain.Vote `json:"last_round"`
	// Right are the canonical forms of the right actions, if they were requested and the environment knew them.
	Right []string `json:"right,omitempty"`
}

// EvalCell is an agent's answer in a round.
type EvalCell struct {
	Agent int    `json:"agent"`
	Round int    `json:"round"`
	Text  string `json:"text"`
	// Canonical is empty if the text does not parse.
	Canonical string       `json:"canonical,omitempty"`
	Usage     domain.Usage `json:"usage"`
	Calls     int          `json:"calls,omitempty"` // calls that led to the answer; 0 means one
	// Image is the digest of the picture that the agent saw with its prompt. It is empty if it saw none.
	Image string `json:"image,omitempty"`
	// Told holds the indices of elements that only peers' actions in the prompt name.
	Told []int `json:"told,omitempty"`
}

// NewEvalStep returns the record of a decision about a screen.
func NewEvalStep(goal string, o domain.Observation, d domain.Decision) EvalStep {
	evalStep := EvalStep{Screen: Digest([]any{goal, o}), Observation: &o, AllRounds: d.AllRound, LastRound: d.LastOnly}
	if d.Divided() {
		evalStep.Seen = d.Seen
	}
	for _, c := range d.Cells {
		if c.Prompt == "" {
			continue // skipped: the vote was certain
		}
		evalStep.Cells = append(evalStep.Cells, EvalCell{
			Agent: c.Agent, Round: c.Round, Text: c.Text, Canonical: c.Canonical, Usage: c.Usage, Calls: c.Calls,
			Told: c.Told, Image: c.Image,
		})
	}

	return evalStep
}

// votes reports whether the answer votes: it parses, and is no act of speech.
func (c EvalCell) votes() bool {
	kind, _, _ := strings.Cut(c.Canonical, " ")

	return kind != "" && !domain.Action{Type: kind}.Speech()
}

// Entropy returns the entropy of the votes in all rounds, in nats: −Σ p·ln p over actions, where p is an action's share
// of the votes. Skipped cells have no votes. It reports false if no cell votes.
func (s EvalStep) Entropy() (float64, bool) {
	votes := map[string]int{}
	total := 0
	for _, evalCell := range s.Cells {
		if evalCell.votes() {
			votes[evalCell.Canonical]++
			total++
		}
	}
	sum := 0.0
	for _, canonical := range slices.Sorted(maps.Keys(votes)) { // sums of floats depend on the order
		share := float64(votes[canonical]) / float64(total)
		sum -= share * math.Log(share)
	}

	return sum, total > 0
}

// Reading counts what became of answers from one round to the next: how often an answer of an agent was right or wrong,
// and its next answer on the same screen right or wrong.
type Reading struct {
	RightRight int `json:"right_right"`
	RightWrong int `json:"right_wrong"`
	WrongRight int `json:"wrong_right"`
	WrongWrong int `json:"wrong_wrong"`
}

// Plus returns the sum of both.
func (r Reading) Plus(reading Reading) Reading {
	return Reading{
		RightRight: r.RightRight + reading.RightRight, RightWrong: r.RightWrong + reading.RightWrong,
		WrongRight: r.WrongRight + reading.WrongRight, WrongWrong: r.WrongWrong + reading.WrongWrong,
	}
}

// Right returns the number of answers that were right at first.
func (r Reading) Right() int { return r.RightRight + r.RightWrong }

// Wrong returns the number of answers that were wrong at first.
func (r Reading) Wrong() int { return r.WrongRight + r.WrongWrong }

// Readings compares the answers of each of some agents in consecutive rounds. A silent system has its agents once for
// every round, in the order of rounds: there, the answers of an agent are compared in that order. It counts nothing
// where no right action is known.
func (s EvalStep) Readings(agents int) []Reading {
	out := make([]Reading, agents)
	if len(s.Right) == 0 {
		return out
	}
	type place struct{ agent, round int }
	cells := map[place]EvalCell{}
	for _, evalCell := range s.Cells {
		cells[place{evalCell.Agent % agents, evalCell.Round + evalCell.Agent/agents}] = evalCell
	}
	for at, evalCell := range cells {
		before, ok := cells[place{at.agent, at.round - 1}]
		if !ok {
			continue
		}
		wasRight := slices.Contains(s.Right, before.Canonical)
		isRight := slices.Contains(s.Right, evalCell.Canonical)
		reading := &out[at.agent]
		switch {
		case wasRight && isRight:
			reading.RightRight++
		case wasRight:
			reading.RightWrong++
		case isRight:
			reading.WrongRight++
		default:
			reading.WrongWrong++
		}
	}

	return out
}

// Cost sums calls of the agents' policies and their tokens. It leaves out calls of a summariser, and calls whose
// answers arrived after the vote was certain.
type Cost struct {
	Calls int `json:"calls"`
	domain.Usage
	// Turns counts agents at steps: one turn is all prompts and answers of an agent at a step. Older records lack it.
	Turns int `json:"turns,omitempty"`
}

// Plus returns the sum of both.
func (c Cost) Plus(cost Cost) Cost {
	return Cost{Calls: c.Calls + cost.Calls, Usage: c.Usage.Plus(cost.Usage), Turns: c.Turns + cost.Turns}
}

// PerSuccess returns the tokens, of prompts and answers, per success. It reports false without successes or without a
// recorded cost.
func (c Cost) PerSuccess(successes int) (float64, bool) {
	if successes == 0 || c.Calls == 0 {
		return 0, false
	}

	return float64(c.Prompt+c.Answer) / float64(successes), true
}

// Cost returns the cost of the decisions of the episode.
func (e EvalEpisode) Cost() Cost {
	var sum Cost
	for _, evalStep := range e.Steps {
		answered := map[int]bool{}
		for _, evalCell := range evalStep.Cells {
			answered[evalCell.Agent] = true
			sum = sum.Plus(Cost{Calls: max(1, evalCell.Calls), Usage: evalCell.Usage})
		}
		sum.Turns += len(answered)
	}

	return sum
}

// Said returns an agent's answer in a round of a step, from 1: in the last step if there were fewer, and for a skipped
// cell the latest answer before it. It is empty if there is no answer.
func (e EvalEpisode) Said(step, agent, round int) string {
	if len(e.Steps) == 0 {
		return ""
	}
	text := ""
	for _, evalCell := range e.Steps[min(step, len(e.Steps))-1].Cells {
		if text == "" || evalCell.Agent <= agent && evalCell.Round <= round {
			text = evalCell.Text
		}
		if evalCell.Agent == agent && evalCell.Round == round {
			return evalCell.Text
		}
	}

	return text
}
