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
	Topology    domain.Topology // which agents read whose messages, for ContradictedCells
	PerStep     int             // maximum of pairs per agent and step
	PerEpisode  int             // maximum of pairs per agent and episode
	Correction  bool            // also pair a peer's right action with the agent's own wrong one
	OutcomeOnly bool            // credit: outcome; no adversary is queried and nothing is graded
	ChosenOnly  bool            // for RFT: every chosen answer is one row without a rejected answer; no adversary
	Seed        uint64          // draws which pairs stay if there are more than PerEpisode
	Answers     agents.Reader   // how the adversary's answers are read
}

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

// Pairs makes the preference pairs of one episode, ordered by agent and step, and within a step by chosen answer with
// the hardest rejected answers first. The adversary is queried once for each agent, step and positive action. Errors
// come from adv, except for refusals, which are counted, and from grade.
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
			own = append(own, m.stepPairs(steps[at], credits[at].Labels, agent, at, cands)...)
		}
		pairs = append(pairs, m.draw(own, agent)...)
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

// answers identifies a pair of one agent at one step by its canonical actions.
type answers struct{ chosen, rejected string }

// stepPairs returns the pairs of an agent at the step with index at. A pair that repeats another one of the step is
// dropped.
func (m *maker) stepPairs(
	step domain.Step, labels []domain.Label, agent, at int, cands map[cellAt][]candidate,
) []domain.Example {
	var all []domain.Example
	for _, i := range m.rules.positives(step, labels, agent) {
		fromCell := m.rules.cellPairs(step, labels, i, cands[cellAt{step: at, cell: i}])
		if len(fromCell) == 0 {
			m.counts.NoPair++
		}
		all = append(all, fromCell...)
	}
	if pair, ok := m.rules.correction(step, labels, agent); ok {
		all = append(all, pair)
	}

	var kept []domain.Example
	seen := map[answers]bool{}
	for _, example := range all {
		key := answers{example.ChosenCanonical, example.RejectedCanonical}
		switch {
		case seen[key]:
		case len(kept) >= m.rules.PerStep:
			m.counts.OverLimit++
		default:
			seen[key] = true
			kept = append(kept, example)
		}
	}

	return kept
}

// draw draws PerEpisode of an agent's pairs by seed over the whole episode, and keeps them in order.
func (m *maker) draw(pairs []domain.Example, agent int) []domain.Example {
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
