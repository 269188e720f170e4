// Package credit labels the cells of action matrices and makes preference pairs from them (docs/method.md, Credit and
// Pairs). The critic and the adversary may be chat models; everything else is pure.
//
// It does no I/O.
package credit

import (
	"math"

	"github.com/collabui/collabui/domain"
)

// Oracle labels the cells of a step by the environment's judge: 1 if the canonical action is one of the right ones,
// otherwise 0. Refused cells are labelled ∅, and so are all cells if the judge knows no right action. Results based on
// it are marked "oracle (privileged)".
func Oracle(step domain.Step) domain.Credit {
	credit := domain.Credit{Step: step.Number, Labels: make([]domain.Label, len(step.Decision.Cells))}
	right := map[string]bool{}
	for _, action := range step.Right {
		right[action.Canonical(step.Observation)] = true
	}
	for i, cell := range step.Decision.Cells {
		switch {
		case len(right) == 0, cell.Refused != "":
			credit.Labels[i] = domain.Uncertain
		case cell.Action != nil && right[cell.Canonical]:
			credit.Labels[i] = domain.Positive
		}
	}

	return credit
}

// Outcome is the ablation "w/o credit re-assignment": a cell equal to the executed action is labelled 1 if the episode
// succeeded and 0 if it failed; all other cells are ∅.
func Outcome(step domain.Step, success bool) domain.Credit {
	credit := domain.Credit{Step: step.Number, Labels: make([]domain.Label, len(step.Decision.Cells))}
	executed := step.Decision.Executed.Canonical(step.Observation)
	for i, cell := range step.Decision.Cells {
		switch {
		case cell.Action == nil || cell.Canonical != executed:
			credit.Labels[i] = domain.Uncertain
		case success:
			credit.Labels[i] = domain.Positive
		}
	}

	return credit
}

// Advantage labels a cell equal to the executed action 1 if the step's advantage is above the threshold, and 0 if it is
// below the negated threshold. All other cells are ∅, and so are all cells of a step whose action made little
// difference.
func Advantage(step domain.Step, advantage, threshold float64) domain.Credit {
	credit := Outcome(step, advantage > threshold)
	if math.Abs(advantage) <= threshold {
		for i := range credit.Labels {
			credit.Labels[i] = domain.Uncertain
		}
	}

	return credit
}

// Flips makes a critic err in order to measure how much the method depends on the critic's quality: it flips labels 1
// and 0 with probability Share, and always flips the labels of one action type. The draw depends on the step and the
// canonical action, so equal actions keep equal labels. At 0.5 the labels are noise.
type Flips struct {
	Share float64 // 0 to 0.5
	Type  string  // action type whose labels are always flipped; may be empty
	Seed  uint64  // the episode's seed
}

// Apply flips labels of the cells that parse, in place.
func (f Flips) Apply(step int, cells []domain.Cell, labels []domain.Label) {
	for i, cell := range cells {
		if cell.Action == nil || labels[i] == domain.Uncertain {
			continue
		}
		systematic := f.Type != "" && cell.Action.Type == f.Type
		if systematic || domain.Rand(f.Seed, "critic error", step, cell.Canonical).Float64() < f.Share {
			labels[i] = 1 - labels[i]
		}
	}
}

// numAgents returns the number of agents in a decision, which must have cells.
func numAgents(decision domain.Decision) int { return 1 + decision.Cells[len(decision.Cells)-1].Agent }
