package credit

import (
	"context"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
)

// Rules configures which pairs are made.
type Rules struct {
	Candidates  int             // answers of the adversary per positive cell (K)
	Negatives   int             // maximum of rejected answers per chosen answer
	Cells       CellChoice      // the prompts on which positive answers are chosen
	Topology    domain.Topology // which agents read whose messages
	PerStep     int             // maximum of pairs per agent and step
	PerEpisode  int             // maximum of pairs per agent and episode
	Correction  bool            // also pair a peer's right action with the agent's own wrong one
	Resist      bool            // also pair a right action with the agent's wrong answer to the prompt that misled it
	Right       bool            // also make a row of every right answer, without a rejected one
	Speech      SpeechRule      // how proposed acts of speech are judged
	Reads       agents.Reads    // whose messages an agent reads
	OutcomeOnly bool            // credit: outcome; no adversary is queried and nothing is graded
	ChosenOnly  bool            // for RFT: every chosen answer is one row without a rejected answer; no adversary
	Seed        uint64          // draws which pairs stay if there are more than PerEpisode
	Answers     agents.Reader   // how the adversary's answers are read
}

// SpeechRule specifies how the acts of speech among an adversary's candidates are judged. The zero value is
// SpeechByEffect.
type SpeechRule string

// The rules of speech.
const (
	// SpeechByEffect labels a pass 0 where an action is right, and what could have been said in the place of a message
	// by what the readers of the message answer to it.
	SpeechByEffect SpeechRule = ""
	// SpeechAsAction has the critic label speech as an action.
	SpeechAsAction SpeechRule = "action"
	// SpeechUnlabelled labels speech ∅.
	SpeechUnlabelled SpeechRule = "none"
)

// PairCounts counts the positive cells and the adversary's candidates by what became of them.
type PairCounts struct {
	LabelCounts // of the cells

	// Discarded candidates: they do not parse, equal a cell that is not labelled 0, or were not graded 0.
	Unparsed, Equal, NotNegative int

	Refused int `json:",omitempty"` // positive cells about which the adversary's model refused to answer

	Pairs     map[domain.Source]int
	NoPair    int // positive cells without a rejected answer
	OverLimit int // pairs dropped because of PerStep and PerEpisode

	NoSpread int `json:",omitempty"` // steps without samples because all labelled answers have the same label
}

// Episode is a labelled episode of a slot.
type Episode struct {
	Slot     int
	Template string
	Steps    []domain.Step
	Credits  []domain.Credit // of every step
}

// Maker makes the preference pairs of episodes.
type Maker struct {
	Rules     Rules
	Adversary Adversary
	Grade     Grade

	// Substitute labels, with SpeechByEffect, what could have been said in the place of a right message. If it is nil,
	// that is labelled ∅.
	Substitute Substitute
}

// Pairs makes the preference pairs of one episode, ordered by agent and step, and within a step by chosen answer with
// the hardest rejected answers first. The rows of an agent's right answers follow its pairs. The adversary is queried
// once for each agent, step and positive action. Errors come from the adversary, except for refusals, which are
// counted, and from Grade and Substitute.
func (p Maker) Pairs(ctx context.Context, episode Episode) ([]domain.Example, PairCounts, error) {
	m := maker{Maker: p, counts: PairCounts{Pairs: map[domain.Source]int{}}}
	steps := episode.Steps
	if len(steps) == 0 {
		return nil, m.counts, nil
	}
	if m.Substitute == nil {
		m.Substitute = unsubstituted
	}
	cands, err := m.candidates(ctx, episode)
	if err != nil {
		return nil, m.counts, err
	}

	var pairs []domain.Example
	for agent := range numAgents(steps[0].Decision) {
		var own, right []domain.Example
		for at := range steps {
			own = append(own, m.stepPairs(steps[at], episode.Credits[at], agent, at, cands)...)
			right = append(right, m.Rules.rightAnswers(steps[at], episode.Credits[at].Labels, agent)...)
		}
		pairs = append(pairs, m.draw(own, agent)...)
		pairs = append(pairs, right...)
	}
	for i := range pairs {
		pairs[i].Slot = episode.Slot
		pairs[i].Template = episode.Template
		pairs[i].Weight = 1
		m.counts.Pairs[pairs[i].Source]++
	}

	return pairs, m.counts, nil
}

// maker makes the pairs of one episode.
type maker struct {
	Maker
	counts PairCounts
}

// answers identifies a pair of one agent at one step by its canonical actions and, if it belongs to its prompt alone,
// by its round.
type answers struct {
	chosen, rejected string
	round            int
}

// anyRound is the round of pairs that do not belong to one prompt.
const anyRound = -1

// stepPairs returns the pairs of an agent at the step with index at. A pair that repeats another one of the step is
// dropped, but on the prompts on which the agent passed or was misled, only one on the same prompt.
func (m *maker) stepPairs(
	step domain.Step, credit domain.Credit, agent, at int, cands map[cellAt][]candidate,
) []domain.Example {
	var all []domain.Example
	labels := credit.Labels
	for _, i := range m.Rules.positives(step, labels, agent) {
		fromCell := m.Rules.cellPairs(step, labels, i, cands[cellAt{step: at, cell: i}])
		if len(fromCell) == 0 {
			m.counts.NoPair++
		}
		all = append(all, fromCell...)
	}
	if !m.Rules.ChosenOnly {
		all = append(all, insteadOfPasses(step, credit, agent)...)
	}
	all = append(all, m.Rules.resistance(step, labels, agent)...)
	if pair, ok := m.Rules.correction(step, labels, agent); ok {
		all = append(all, pair)
	}

	var kept []domain.Example
	seen := map[answers]bool{}
	for _, example := range all {
		here := answers{example.ChosenCanonical, example.RejectedCanonical, example.Round}
		anywhere := answers{example.ChosenCanonical, example.RejectedCanonical, anyRound}
		key := anywhere
		if example.Source == domain.SourceInstead || example.Source == domain.SourceResist {
			key = here
		}
		switch {
		case seen[key]:
		case len(kept) >= m.Rules.PerStep:
			m.counts.OverLimit++
		default:
			seen[here] = true
			seen[anywhere] = true
			kept = append(kept, example)
		}
	}

	return kept
}

// draw draws PerEpisode of an agent's pairs by seed over the whole episode, and keeps them in order.
func (m *maker) draw(pairs []domain.Example, agent int) []domain.Example {
	n := m.Rules.PerEpisode
	if len(pairs) <= n {
		return pairs
	}
	m.counts.OverLimit += len(pairs) - n

	keep := domain.Rand(m.Rules.Seed, "pairs", agent).Perm(len(pairs))[:n]
	slices.Sort(keep)
	out := make([]domain.Example, n)
	for k, i := range keep {
		out[k] = pairs[i]
	}

	return out
}
