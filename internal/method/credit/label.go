// Package credit assigns credit to the cells of action matrices and makes preference pairs of them (METHOD.md section 4). Its rules are pure functions;
// models are asked by the activities. It knows domain and the answer format of internal/system.
package credit

import (
	"github.com/collabui/collabui/domain"
)

// Oracle labels the cells of a step by the environment's judge: 1 if the canonical action is one of the right ones, else 0; all ∅ where the judge knows
// no right action. Results that use it are marked "oracle (privileged)".
func Oracle(s domain.Step) domain.Credit {
	c := domain.Credit{Step: s.Number, Labels: make([]domain.Label, len(s.Decision.Cells))}
	right := map[string]bool{}
	for _, a := range s.Right {
		right[a.Canonical(s.Observation)] = true
	}
	for i, cell := range s.Decision.Cells {
		switch {
		case len(right) == 0:
			c.Labels[i] = domain.Uncertain
		case cell.Action != nil && right[cell.Canonical]:
			c.Labels[i] = domain.Positive
		}
	}
	return c
}

// Flips makes a critic err: a label of 1 or 0 is turned round with probability Share, drawn from the step and the canonical action, so that equal actions stay
// equal. At 0.5 the labels say nothing. An experiment of ours: what does the loop gain from a critic of this quality?
type Flips struct {
	Share float64 // 0 to 0.5
	Seed  uint64  // of the episode
}

// Apply turns labels of cells that parse.
func (f Flips) Apply(step int, cells []domain.Cell, labels []domain.Label) {
	for i, c := range cells {
		if c.Action != nil && labels[i] != domain.Uncertain && domain.Rand(f.Seed, "critic error", step, c.Canonical).Float64() < f.Share {
			labels[i] = 1 - labels[i]
		}
	}
}

// Outcome is the ablation "w/o credit re-assignment": cells equal to the executed action of a successful episode are 1, of a failed one 0, others ∅.
func Outcome(s domain.Step, success bool) domain.Credit {
	c := domain.Credit{Step: s.Number, Labels: make([]domain.Label, len(s.Decision.Cells))}
	done := s.Decision.Executed.Canonical(s.Observation)
	for i, cell := range s.Decision.Cells {
		switch {
		case cell.Action == nil || cell.Canonical != done:
			c.Labels[i] = domain.Uncertain
		case success:
			c.Labels[i] = domain.Positive
		}
	}
	return c
}
