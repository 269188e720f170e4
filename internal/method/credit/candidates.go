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

// candidates queries the adversary about every positive cell and grades its usable answers, with one call per step. The
// candidates of a pass are its alternatives, which are labelled already.
func (m *maker) candidates(ctx context.Context, episode Episode) (map[cellAt][]candidate, error) {
	out := map[cellAt][]candidate{}
	for si, step := range episode.Steps {
		credit := episode.Credits[si]
		m.counts.Count(credit.Labels)
		if m.Rules.OutcomeOnly || m.Rules.ChosenOnly {
			continue
		}

		proposed, err := m.propose(ctx, step, credit)
		if err != nil {
			return nil, err
		}
		if err := m.label(ctx, step, credit, proposed); err != nil {
			return nil, err
		}
		for _, x := range proposed {
			if x.label != domain.Negative {
				m.counts.NotNegative++
			}
			at := cellAt{step: si, cell: x.target}
			out[at] = append(out[at], x.candidate)
		}
	}

	return out, nil
}

// offer is a usable answer of the adversary to a positive cell.
type offer struct {
	candidate
	target int   // index of the cell
	by     judge // what labels it
}

// judge is what labels a proposal.
type judge int

const (
	labelled judge = iota // it has its label
	byCritic
	byReaders // of the message that it would replace
)

// label labels proposals of a step, in place.
func (m *maker) label(ctx context.Context, step domain.Step, credit domain.Credit, proposed []offer) error {
	var acts []domain.Cell
	var said []Said
	for _, x := range proposed {
		switch x.by {
		case byCritic:
			acts = append(acts, x.cell)
		case byReaders:
			said = append(said, Said{Cell: x.target, Text: x.cell.Text})
		}
	}
	var ofActs, ofSaid []domain.Label
	var err error
	if len(acts) > 0 {
		if ofActs, err = m.Grade(ctx, step, credit.Labels, acts); err != nil {
			return err
		}
	}
	if len(said) > 0 {
		if ofSaid, err = m.Substitute(ctx, step, credit, said); err != nil {
			return err
		}
	}

	for i := range proposed {
		switch proposed[i].by {
		case byCritic:
			proposed[i].label = ofActs[0]
			ofActs = ofActs[1:]
		case byReaders:
			proposed[i].label = ofSaid[0]
			ofSaid = ofSaid[1:]
		}
	}

	return nil
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

// propose returns the adversary's answers that parse and differ from the chosen answer and from every action of the
// step that is not labelled 0.
func (m *maker) propose(ctx context.Context, step domain.Step, credit domain.Credit) ([]offer, error) {
	var out []offer
	forbidden := forbiddenActions(step, credit.Labels)
	for agent := range numAgents(step.Decision) {
		for _, i := range m.Rules.positives(step, credit.Labels, agent) {
			cell := step.Decision.Cells[i]
			if m.Rules.Speech == SpeechByEffect && passes(cell) {
				for _, wrong := range m.Rules.wrongAlternatives(step, credit, i) {
					out = append(out, offer{candidate: wrong, target: i})
				}

				continue
			}
			proposals, err := m.Adversary(ctx, step, cell, m.Rules.Candidates)
			if fault.KindOf(err) == fault.Refused {
				m.counts.Refused++
				continue
			}
			if err != nil {
				return nil, err
			}
			for _, answer := range proposals {
				c := m.Rules.Answers.Cell(cell.Agent, cell.Round, answer.Text, cell.Prompt, step.Observation)
				c.LogProb = answer.LogProb
				label, by := m.Rules.judge(cell, c)
				switch {
				case c.Action == nil:
					m.counts.Unparsed++
				case c.Canonical == cell.Canonical, forbidden[c.Canonical] && by == byCritic:
					m.counts.Equal++
				default:
					out = append(out, offer{candidate: candidate{cell: c, label: label}, target: i, by: by})
				}
			}
		}
	}

	return out, nil
}

// judge returns what labels a proposal to a positive cell, and its label if that is known already.
func (r Rules) judge(right, proposed domain.Cell) (domain.Label, judge) {
	switch {
	case r.Speech == SpeechAsAction || !speaks(proposed):
		return domain.Uncertain, byCritic
	case r.Speech == SpeechByEffect && speaks(right):
		return domain.Uncertain, byReaders
	case r.Speech == SpeechByEffect && passes(proposed):
		return domain.Negative, labelled
	}

	return domain.Uncertain, labelled
}
