package credit

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
)

// Adversary proposes n answers to the prompt of a positive cell. They are meant to be plausible but wrong.
type Adversary func(ctx context.Context, step domain.Step, cell domain.Cell, n int) ([]Proposal, error)

// Proposal is an answer of the adversary.
type Proposal struct {
	Text string
	// LogProb is the answer's log-probability under the agent's policy at temperature 1, in nats, or 0 if it is
	// unknown.
	LogProb float64
}

// Grade labels the candidates of one step. labels are the labels of the step's own cells.
type Grade func(
	ctx context.Context, step domain.Step, labels []domain.Label, cands []domain.Cell,
) ([]domain.Label, error)

// OracleGrade labels candidates by the environment's judge.
func OracleGrade(_ context.Context, step domain.Step, _ []domain.Label, cands []domain.Cell) ([]domain.Label, error) {
	step.Decision.Cells = cands

	return Oracle(step).Labels, nil
}

// candidate is a graded answer of the adversary.
type candidate struct {
	cell  domain.Cell
	label domain.Label
}

// cellAt locates a cell in an episode by the index of its step and its index within the step.
type cellAt struct{ step, cell int }

// candidates queries the adversary about every positive cell and grades its usable answers, with one call per step.
func (m *maker) candidates(
	ctx context.Context, steps []domain.Step, credits []domain.Credit,
) (map[cellAt][]candidate, error) {
	out := map[cellAt][]candidate{}
	for si, step := range steps {
		labels := credits[si].Labels
		m.counts.Count(labels)
		if m.rules.OutcomeOnly || m.rules.ChosenOnly {
			continue
		}

		cands, targets, err := m.propose(ctx, step, labels)
		if err != nil {
			return nil, err
		}
		if len(cands) == 0 {
			continue
		}
		graded, err := m.grade(ctx, step, labels, cands)
		if err != nil {
			return nil, err
		}
		for k, cell := range cands {
			if graded[k] != domain.Negative {
				m.counts.NotNegative++
			}
			at := cellAt{step: si, cell: targets[k]}
			out[at] = append(out[at], candidate{cell: cell, label: graded[k]})
		}
	}

	return out, nil
}

// forbiddenActions returns the canonical actions of a step that are not labelled 0. The adversary's answers must differ
// from them.
func forbiddenActions(step domain.Step, labels []domain.Label) map[string]bool {
	out := map[string]bool{}
	for i, cell := range step.Decision.Cells {
		if labels[i] != domain.Negative {
			out[cell.Canonical] = true
		}
	}

	return out
}

// propose returns the adversary's answers that parse and differ from every action of the step that is not labelled 0,
// and the index of the positive cell that each one answers.
func (m *maker) propose(
	ctx context.Context, step domain.Step, labels []domain.Label,
) (cands []domain.Cell, targets []int, err error) {
	forbidden := forbiddenActions(step, labels)
	for agent := range numAgents(step.Decision) {
		for _, i := range m.rules.positives(step, labels, agent) {
			cell := step.Decision.Cells[i]
			proposals, err := m.adversary(ctx, step, cell, m.rules.Candidates)
			if fault.KindOf(err) == fault.Refused {
				m.counts.Refused++
				continue
			}
			if err != nil {
				return nil, nil, err
			}
			for _, proposal := range proposals {
				c := m.rules.Answers.Cell(cell.Agent, cell.Round, proposal.Text, cell.Prompt, step.Observation)
				c.LogProb = proposal.LogProb
				switch {
				case c.Action == nil:
					m.counts.Unparsed++
				case forbidden[c.Canonical]:
					m.counts.Equal++
				default:
					cands = append(cands, c)
					targets = append(targets, i)
				}
			}
		}
	}

	return cands, targets, nil
}
