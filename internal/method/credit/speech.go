package credit

import (
	"context"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
)

// Substitute labels what could have been said in the place of messages of a step: see Listening.Substitute.
type Substitute func(
	ctx context.Context, step domain.Step, credit domain.Credit, said []Said,
) ([]domain.Label, error)

// unsubstituted labels all that could have been said ∅.
func unsubstituted(_ context.Context, _ domain.Step, _ domain.Credit, said []Said) ([]domain.Label, error) {
	return slices.Repeat([]domain.Label{domain.Uncertain}, len(said)), nil
}

// insteadOfPasses pairs what would have helped with the agent's passes that are labelled 0, on their prompts.
func insteadOfPasses(step domain.Step, credit domain.Credit, agent int) []domain.Example {
	var out []domain.Example
	for _, effect := range credit.Effects {
		pass := step.Decision.Cells[effect.Cell]
		if pass.Agent != agent || credit.Labels[effect.Cell] != domain.Negative {
			continue
		}
		for _, alternative := range effect.Instead {
			if alternative.Label == domain.Positive {
				chosen := domain.Cell{Text: alternative.Text, Canonical: alternative.Canonical}
				out = append(out, newPair(step, pass, chosen, pass, domain.SourceInstead))
			}
		}
	}

	return out
}

// wrongAlternatives returns the alternatives to the pass in cell i that are labelled 0.
func (r Rules) wrongAlternatives(step domain.Step, credit domain.Credit, i int) []candidate {
	cell := step.Decision.Cells[i]
	var out []candidate
	for _, effect := range credit.Effects {
		if effect.Cell != i {
			continue
		}
		for _, alternative := range effect.Instead {
			if alternative.Label == domain.Negative {
				wrong := r.Answers.Cell(cell.Agent, cell.Round, alternative.Text, cell.Prompt, step.Observation)
				out = append(out, candidate{cell: wrong, label: domain.Negative})
			}
		}
	}

	return out
}

// resistance pairs a right action with the agent's own wrong answer on every prompt that misled the agent: it held the
// agent's own action of the previous round or a peer's action, which is labelled 1 and legal there. Its own comes
// first.
func (r Rules) resistance(step domain.Step, labels []domain.Label, agent int) []domain.Example {
	if !r.Resist {
		return nil
	}
	var out []domain.Example
	for i, wrong := range step.Decision.Cells {
		if wrong.Agent != agent || labels[i] != domain.Negative || wrong.Action == nil {
			continue
		}
		read := append([]agents.Source{{Agent: agent, Round: wrong.Round - 1}}, r.reading().sources(wrong)...)
		for _, source := range read {
			k := indexOf(step.Decision, source)
			if k < 0 || labels[k] != domain.Positive {
				continue
			}
			right := step.Decision.Cells[k]
			if right.Votes() && legal(*right.Action, step, wrong) {
				out = append(out, newPair(step, wrong, right, wrong, domain.SourceResist))

				break
			}
		}
	}

	return out
}

// indexOf returns the index of a cell in a decision, or -1.
func indexOf(decision domain.Decision, source agents.Source) int {
	for i, cell := range decision.Cells {
		if cell.Agent == source.Agent && cell.Round == source.Round {
			return i
		}
	}

	return -1
}

// rightAnswers returns a row without a rejected answer for every right answer of an agent at a step, on the prompt that
// Cells selects.
func (r Rules) rightAnswers(step domain.Step, labels []domain.Label, agent int) []domain.Example {
	if !r.Right {
		return nil
	}
	var out []domain.Example
	for _, i := range r.positives(step, labels, agent) {
		cell := step.Decision.Cells[i]
		out = append(out, newPair(step, cell, cell, domain.Cell{}, domain.SourceNone))
	}

	return out
}
