package credit

import (
	"context"

	"github.com/collabui/collabui/domain"
)

// Rules say which pairs are made.
type Rules struct {
	Candidates   int  // samples of the adversary per positive cell (K)
	PerStep      int  // pairs per agent and step
	PerEpisode   int  // pairs per agent and episode
	Correction   bool // also pair a peer's right action with the agent's own wrong one
	OutcomeOnly  bool // credit: outcome. No adversary is asked and nothing is graded.
	AdversaryOff bool // preference: rft. Only positives are kept; rejected stays empty.
}

// PairCounts says what became of the positive cells and of the adversary's candidates.
type PairCounts struct {
	// Cells, by label.
	Positive, Negative, Uncertain int

	// Candidates that were rejected: they do not parse, equal a cell that is not labelled 0, or were not graded 0.
	Unparsed, Equal, NotNegative int

	Pairs     map[domain.Source]int
	NoPair    int // positive cells without any rejected answer
	OverLimit int // pairs left out by PerStep and PerEpisode
}

// Pairs makes the preference pairs of one episode, ordered by agent, step and round. Of each agent, step and chosen
// action only the latest round is used, so the adversary is asked once for each.
func Pairs(
	ctx context.Context, r Rules, slot int, template string, steps []domain.Step, credits []domain.Credit,
	adv Adversary, grade Grade,
) ([]domain.Pair, PairCounts, error) {
	m := maker{rules: r, adversary: adv, grade: grade, counts: PairCounts{Pairs: map[domain.Source]int{}}}
	if len(steps) == 0 {
		return nil, m.counts, nil
	}
	cands, err := m.candidates(ctx, steps, credits)
	if err != nil {
		return nil, m.counts, err
	}

	for a := range numAgents(steps[0].Decision) {
		m.inEpisode = 0
		for si, s := range steps {
			m.inStep, m.made = 0, map[answers]bool{}
			labels := credits[si].Labels
			for _, i := range latest(s, labels, a) {
				p, ok := r.pair(s, labels, i, cands[cellAt{step: si, cell: i}])
				if !ok {
					m.counts.NoPair++

					continue
				}
				m.add(p)
			}
			if p, ok := r.correction(s, labels, a); ok {
				m.add(p)
			}
		}
	}
	for i := range m.pairs {
		m.pairs[i].Slot, m.pairs[i].Template, m.pairs[i].Weight = slot, template, 1
	}

	return m.pairs, m.counts, nil
}

// maker collects the pairs of one episode.
type maker struct {
	rules     Rules
	adversary Adversary
	grade     Grade
	pairs     []domain.Pair
	counts    PairCounts

	inEpisode int              // pairs of the agent
	inStep    int              // pairs of the agent at the step
	made      map[answers]bool // pairs made by the agent at the step
}

// answers identifies a pair of an agent and step by its canonical actions.
type answers struct{ chosen, rejected string }

// add keeps a pair unless the step has it already or a limit is reached.
func (m *maker) add(p domain.Pair) {
	key := answers{p.ChosenCanonical, p.RejectedCanonical}
	switch {
	case m.made[key]:
	case m.inStep >= m.rules.PerStep || m.inEpisode >= m.rules.PerEpisode:
		m.counts.OverLimit++
	default:
		m.made[key] = true
		m.pairs = append(m.pairs, p)
		m.counts.Pairs[p.Source]++
		m.inStep++
		m.inEpisode++
	}
}
