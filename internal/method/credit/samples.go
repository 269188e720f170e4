package credit

import (
	"math"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
)

// minSpread bounds the quotient if a group's spread is close to 0.
const minSpread = 1e-4

// Reading specifies who reads whose messages.
type Reading struct {
	Topology domain.Topology
	Reads    agents.Reads
}

// Advantages returns the advantage of every cell of a step. The group of a cell consists of the labelled cells of the
// step, all agents' answers in all rounds to one screen, without those that the cell influenced: an answer that
// convinces others must not be compared with what it led to. With the labels r of the group, 1 or 0, and their standard
// deviation,
//
//	A = (r − mean r) / (std r + 1e-4)
//
// (Shao et al., "DeepSeekMath", 2024, section 4.1.2; Feng et al., "GiGPO", 2025, also group by step). The deviation is
// the sample standard deviation, as in TRL. A cell labelled ∅ has advantage 0, and so has a cell whose group has equal
// labels.
func Advantages(cells []domain.Cell, labels []domain.Label, reading Reading) []float64 {
	out := make([]float64, len(labels))
	next := reading.next(cells)
	for i, own := range labels {
		if own == domain.Uncertain {
			continue
		}
		later := influenced(next, i)
		count := 0.0
		positive := 0.0
		for k, label := range labels {
			if label != domain.Uncertain && !later[k] {
				count++
				positive += float64(label)
			}
		}
		if positive == 0 || positive == count {
			continue
		}
		mean := positive / count
		spread := math.Sqrt(count * mean * (1 - mean) / (count - 1)) // labels are 0 or 1
		out[i] = (float64(own) - mean) / (spread + minSpread)
	}

	return out
}

// sources returns the cells whose messages a cell reads.
func (r Reading) sources(cell domain.Cell) []agents.Source {
	return agents.Config{Topology: r.Topology, Reads: r.Reads}.Sources(cell.Agent, cell.Round)
}

// next returns, for every cell, the indices of the cells whose prompts contain its answer: the cells that read it, and
// the agent's own next round.
func (r Reading) next(cells []domain.Cell) [][]int {
	index := map[agents.Source]int{}
	for i, cell := range cells {
		index[agents.Source{Agent: cell.Agent, Round: cell.Round}] = i
	}
	out := make([][]int, len(cells))
	for i, cell := range cells {
		own := agents.Source{Agent: cell.Agent, Round: cell.Round - 1}
		for _, source := range append(r.sources(cell), own) {
			if k, ok := index[source]; ok {
				out[k] = append(out[k], i)
			}
		}
	}

	return out
}

// influenced reports, for every cell, whether its answer depends on the answer of cell i.
func influenced(next [][]int, i int) []bool {
	out := make([]bool, len(next))
	for open := next[i]; len(open) > 0; {
		k := open[0]
		open = open[1:]
		if !out[k] {
			out[k] = true
			open = append(slices.Clone(open), next[k]...)
		}
	}

	return out
}

// reading returns who reads whose messages.
func (r Rules) reading() Reading { return Reading{Topology: r.Topology, Reads: r.Reads} }

// Samples makes the samples of one episode for GRPO, ordered by agent, step and round. Every cell with an advantage
// other than 0 becomes a sample on its own prompt. Equal answers stay separate samples, because the policy gave each of
// them. No model is called.
func Samples(rules Rules, episode Episode) ([]domain.Example, PairCounts) {
	m := maker{Maker: Maker{Rules: rules}, counts: PairCounts{Pairs: map[domain.Source]int{}}}
	steps := episode.Steps
	if len(steps) == 0 {
		return nil, m.counts
	}

	samplesOf := make([][]domain.Example, numAgents(steps[0].Decision))
	for at, step := range steps {
		labels := episode.Credits[at].Labels
		m.counts.Count(labels)
		spread := false
		for i, a := range Advantages(step.Decision.Cells, labels, rules.reading()) {
			if a == 0 {
				continue
			}
			spread = true
			cell := step.Decision.Cells[i]
			samplesOf[cell.Agent] = append(samplesOf[cell.Agent], domain.Example{
				Agent: cell.Agent, Slot: episode.Slot, Step: step.Number, Round: cell.Round, Template: episode.Template,
				Prompt: cell.Prompt, Image: cell.Image, Chosen: cell.Text, ChosenCanonical: cell.Canonical,
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
