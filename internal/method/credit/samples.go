package credit

import (
	"math"

	"github.com/collabui/collabui/domain"
)

// minSpread bounds the quotient if a group's spread is close to 0.
const minSpread = 1e-4

// Advantages returns the advantage of every cell of a step. The group of a cell consists of all labelled cells of the
// step: the answers of all agents in all rounds to one screen. With the labels r of the group, 1 or 0, and their
// standard deviation,
//
//	A = (r − mean r) / (std r + 1e-4)
//
// (Shao et al., "DeepSeekMath", 2024, section 4.1.2; Feng et al., "GiGPO", 2025, also group by step). The deviation is
// the sample standard deviation, as in TRL. A cell labelled ∅ has advantage 0, and so have all cells if their labels
// are equal.
func Advantages(labels []domain.Label) []float64 {
	out := make([]float64, len(labels))
	count := 0.0
	positive := 0.0
	for _, label := range labels {
		if label != domain.Uncertain {
			count++
			positive += float64(label)
		}
	}
	if positive == 0 || positive == count {
		return out
	}

	mean := positive / count
	spread := math.Sqrt(count * mean * (1 - mean) / (count - 1)) // labels are 0 or 1
	for i, l := range labels {
		if l != domain.Uncertain {
			out[i] = (float64(l) - mean) / (spread + minSpread)
		}
	}

	return out
}

// Samples makes the samples of one episode for GRPO, ordered by agent, step and round. Every cell with an advantage
// other than 0 becomes a sample on its own prompt. Equal answers stay separate samples, because the policy gave each of
// them. No model is called.
func Samples(
	rules Rules, slot int, template string, steps []domain.Step, credits []domain.Credit,
) ([]domain.Example, PairCounts) {
	m := maker{rules: rules, counts: PairCounts{Pairs: map[domain.Source]int{}}}
	if len(steps) == 0 {
		return nil, m.counts
	}

	samplesOf := make([][]domain.Example, numAgents(steps[0].Decision))
	for at, step := range steps {
		m.counts.Count(credits[at].Labels)
		spread := false
		for i, a := range Advantages(credits[at].Labels) {
			if a == 0 {
				continue
			}
			spread = true
			cell := step.Decision.Cells[i]
			samplesOf[cell.Agent] = append(samplesOf[cell.Agent], domain.Example{
				Agent: cell.Agent, Slot: slot, Step: step.Number, Round: cell.Round, Template: template,
				Prompt: cell.Prompt, Chosen: cell.Text, ChosenCanonical: cell.Canonical,
				Source: domain.SourceGroup, Weight: 1, Advantage: a,
			})
		}
		if !spread {
			m.counts.NoSpread++
		}
	}

	var samples []domain.Example
	for agent, all := range samplesOf {
		samples = append(samples, m.draw(all, agent)...)
	}
	m.counts.Pairs[domain.SourceGroup] = len(samples)

	return samples, m.counts
}
