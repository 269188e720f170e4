package credit

import (
	"slices"

	"github.com/collabui/collabui/domain"
)

// CellChoice says on which prompts an agent's positive answers are chosen. An agent often gives the same right answer
// in several rounds; one prompt is taken for each agent, step and canonical action.
type CellChoice string

// The choices of cells.
const (
	// LatestCells are those of the latest round. Their prompts hold the agent's own answer and its peers' messages.
	LatestCells CellChoice = "latest"
	// FirstCells are those of the first round in which the agent gave the answer.
	FirstCells CellChoice = "first"
	// UncertainCells are the first ones of steps at which an agent's answer was labelled 0: somebody erred.
	UncertainCells CellChoice = "uncertain"
	// ContradictedCells are the first ones whose prompt holds an answer labelled 0: a message of a peer, or the agent's
	// own answer of the round before.
	ContradictedCells CellChoice = "contradicted"
)

// positives returns the indices of the positive cells of an agent at a step that serve as chosen answers, in the order
// of rounds: one of every canonical action.
func (r Rules) positives(step domain.Step, labels []domain.Label, agent int) []int {
	chosen := map[string]int{}
	for i, cell := range step.Decision.Cells {
		if cell.Agent != agent || labels[i] != domain.Positive {
			continue
		}
		if _, known := chosen[cell.Canonical]; !r.serves(step, labels, i) || known && r.Cells != LatestCells {
			continue
		}
		chosen[cell.Canonical] = i
	}

	var out []int
	for _, i := range chosen {
		out = append(out, i)
	}
	slices.Sort(out)

	return out
}

// serves reports whether the rules take cell i, apart from its round.
func (r Rules) serves(step domain.Step, labels []domain.Label, i int) bool {
	switch r.Cells {
	case UncertainCells:
		return slices.Contains(labels, domain.Negative)
	case ContradictedCells:
		cell := step.Decision.Cells[i]
		preds := r.Topology.Preds(step.Decision.Cells[i].Agent)
		for k, c := range step.Decision.Cells {
			peer := c.Round == cell.Round && slices.Contains(preds, c.Agent)
			own := c.Round == cell.Round-1 && c.Agent == cell.Agent
			if labels[k] == domain.Negative && (peer || own) {
				return true
			}
		}

		return false
	}

	return true
}
