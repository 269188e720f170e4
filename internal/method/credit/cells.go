package credit

import (
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
)

// CellChoice specifies on which prompts an agent's positive answers are chosen. An agent often gives the same right
// answer in several rounds. One prompt is taken for each agent, step and canonical action.
type CellChoice string

// The choices of cells.
const (
	// LatestCells takes the latest round in which the agent gave the answer. Its prompt contains the agent's own
	// previous answer and its peers' messages.
	LatestCells CellChoice = "latest"
	// FirstCells takes the first round in which the agent gave the answer.
	FirstCells CellChoice = "first"
	// UncertainCells takes the first cell, but only at steps with an answer labelled 0.
	UncertainCells CellChoice = "uncertain"
	// ContradictedCells takes the first cell whose prompt contains an answer labelled 0: a peer's message, or the
	// agent's own answer of the previous round.
	ContradictedCells CellChoice = "contradicted"
)

// positives returns the indices of an agent's positive cells at a step that serve as chosen answers, one for each
// canonical action, in the order of rounds.
func (r Rules) positives(step domain.Step, labels []domain.Label, agent int) []int {
	chosen := map[string]int{}
	for i, cell := range step.Decision.Cells {
		if cell.Agent != agent || labels[i] != domain.Positive {
			continue
		}
		if _, seen := chosen[cell.Canonical]; !r.serves(step, labels, i) || seen && r.Cells != LatestCells {
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

// serves reports whether cell i may serve as a chosen answer. It does not consider which round is preferred.
func (r Rules) serves(step domain.Step, labels []domain.Label, i int) bool {
	switch r.Cells {
	case UncertainCells:
		return slices.Contains(labels, domain.Negative)
	case ContradictedCells:
		cell := step.Decision.Cells[i]
		read := r.reading().sources(cell)
		for k, c := range step.Decision.Cells {
			peer := slices.Contains(read, agents.Source{Agent: c.Agent, Round: c.Round})
			own := c.Round == cell.Round-1 && c.Agent == cell.Agent
			if labels[k] == domain.Negative && (peer || own) {
				return true
			}
		}

		return false
	}

	return true
}
