package credit

import (
	"math"

	"github.com/collabui/collabui/domain"
)

// minSpread keeps the division by a group's spread from growing without end.
const minSpread = 1e-4

// Advantages returns the advantage of every cell of a step, whose group are all labelled cells of the step: the answers
// of all agents in all rounds to one screen. With the labels r of the group, 1 or 0, and their standard deviation,
//
//	A = (r − mean r) / (std r + 1e-4)
//
// (Shao et al., "DeepSeekMath", 2024, section 4.1.2; the group of a step is that of Feng et al., "GiGPO", 2025). The
// deviation is that of a sample, as in TRL. A cell labelled ∅ has 0, and so have all if their labels are equal.
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

// Samples makes the samples of one episode for GRPO, ordered by agent, step and round: a cell with an advantage is one,
// on its own prompt. Equal answers stay apart, because the policy gave each of them. Nothing is asked.
func Samples(
	rules Rules, slot int, template string, steps []domain.Step, credits []domain.Credit,
) ([]domain.Example, PairCounts) {
	m := maker{rules: rules, counts: PairCounts{Pairs: map[domain.Source]int{}}}
	if len(steps) == 0 {
		return nil, m.counts
	}

	own := make([][]domain.Example, numAgents(steps[0].Decision))
	for at, step := range steps {
		m.counts.Count(credits[at].Labels)
		spread := false
		for i, a := range Advantages(credits[at].Labels) {
			if a == 0 {
				continue
			}
			spread = true
			cell := step.Decision.Cells[i]
			own[cell.Agent] = append(own[cell.Agent], domain.Example{
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
	for agent, all := range own {
		samples = append(samples, m.drawn(all, agent)...)
	}
	m.counts.Pairs[domain.SourceGroup] = len(samples)

	return samples, m.counts
}
