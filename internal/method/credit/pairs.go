package credit

import (
	"context"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
)

// Rules say which pairs are made.
type Rules struct {
	Candidates  int             // samples of the adversary per positive cell (K)
	Negatives   int             // the most rejected answers of one chosen answer
	Cells       CellChoice      // the prompts on which positive answers are chosen
	Topology    domain.Topology // who reads whose messages, for ContradictedCells
	PerStep     int             // the most pairs per agent and step
	PerEpisode  int             // the most pairs per agent and episode
	Correction  bool            // also pair a peer's right action with the agent's own wrong one
	OutcomeOnly bool            // credit: outcome. No adversary is asked and nothing is graded.
	ChosenOnly  bool            // with OutcomeOnly: a chosen answer serves without a rejected one, for RFT
	Seed        uint64          // draws the pairs that stay if there are more than PerEpisode
	Answers     agents.Parsing  // how the adversary's answers are read
}

// PairCounts says what became of the positive cells and of the adversary's candidates.
type PairCounts struct {
	LabelCounts // of the cells

	// Candidates that were rejected: they do not parse, equal a cell that is not labelled 0, or were not graded 0.
	Unparsed, Equal, NotNegative int

	Refused int `json:",omitempty"` // positive cells about which the adversary's model refused to answer

	Pairs     map[domain.Source]int
	NoPair    int // positive cells without any rejected answer
	OverLimit int // pairs left out by PerStep and PerEpisode

	NoSpread int `json:",omitempty"` // steps without samples, because all labelled answers have the same label
}

// Pairs makes the preference pairs of one episode, ordered by agent and step, and within a step by chosen answer with
// the hardest rejected answers first. The adversary is asked once for each agent, step and positive action.
func Pairs(
	ctx context.Context, rules Rules, slot int, template string, steps []domain.Step, credits []domain.Credit,
	adv Adversary, grade Grade,
) ([]domain.Example, PairCounts, error) {
	m := maker{rules: rules, adversary: adv, grade: grade, counts: PairCounts{Pairs: map[domain.Source]int{}}}
	if len(steps) == 0 {
		return nil, m.counts, nil
	}
	cands, err := m.candidates(ctx, steps, credits)
	if err != nil {
		return nil, m.counts, err
	}

	var pairs []domain.Example
	for agent := range numAgents(steps[0].Decision) {
		var own []domain.Example
		for at := range steps {
			own = append(own, m.ofStep(steps[at], credits[at].Labels, agent, at, cands)...)
		}
		pairs = append(pairs, m.drawn(own, agent)...)
	}
	for i := range pairs {
		pairs[i].Slot = slot
		pairs[i].Template = template
		pairs[i].Weight = 1
		m.counts.Pairs[pairs[i].Source]++
	}

	return pairs, m.counts, nil
}

// maker makes the pairs of one episode.
type maker struct {
	rules     Rules
	adversary Adversary
	grade     Grade
	counts    PairCounts
}

// answers identifies a pair of an agent and step by its canonical actions.
type answers struct{ chosen, rejected string }

// ofStep returns the pairs of an agent at a step, whose index is at. A pair that the step has already is left out.
func (m *maker) ofStep(
	step domain.Step, labels []domain.Label, agent, at int, cands map[cellAt][]candidate,
) []domain.Example {
	var all []domain.Example
	for _, i := range m.rules.positives(step, labels, agent) {
		made := m.rules.pairs(step, labels, i, cands[cellAt{step: at, cell: i}])
		if len(made) == 0 {
			m.counts.NoPair++
		}
		all = append(all, made...)
	}
	if pair, ok := m.rules.correction(step, labels, agent); ok {
		all = append(all, pair)
	}

	var kept []domain.Example
	known := map[answers]bool{}
	for _, p := range all {
		key := answers{p.ChosenCanonical, p.RejectedCanonical}
		switch {
		case known[key]:
		case len(kept) >= m.rules.PerStep:
			m.counts.OverLimit++
		default:
			known[key] = true
			kept = append(kept, p)
		}
	}

	return kept
}

// drawn returns PerEpisode of an agent's pairs, drawn by seed over the whole episode, in their order.
func (m *maker) drawn(pairs []domain.Example, agent int) []domain.Example {
	n := m.rules.PerEpisode
	if len(pairs) <= n {
		return pairs
	}
	m.counts.OverLimit += len(pairs) - n

	keep := domain.Rand(m.rules.Seed, "pairs", agent).Perm(len(pairs))[:n]
	slices.Sort(keep)
	out := make([]domain.Example, n)
	for k, i := range keep {
		out[k] = pairs[i]
	}

	return out
}
