package view

import (
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
)

// detailCall is a call that proposed alternatives to an answer.
type detailCall struct {
	Agent    int              `json:"agent"`
	Round    int              `json:"round"`
	Proposed []detailProposal `json:"proposed"`
	Refused  string           `json:"refused,omitempty"`
	Cost     *cost            `json:"cost,omitempty"` // if it has a price
}

// detailProposal is an answer of the adversary, its fate, and the critic's grade, if the critic graded it.
type detailProposal struct {
	Text  string        `json:"text"`
	Fate  credit.Fate   `json:"fate,omitempty"`
	Grade *credit.Score `json:"grade,omitempty"`
}

// addPairs adds the pairs of a step, counted from 0, and the adversary's proposals for them.
func (e Episode) addPairs(step int, d *detailStep) {
	s := e.Steps[step]
	pairs := e.PairsOf(s.Number)
	for _, p := range pairs {
		d.Pairs = append(d.Pairs, detailPair{
			Agent: p.Agent, Round: p.Round, Chosen: p.Chosen, Rejected: p.Rejected, Source: p.Source, Weight: p.Weight,
			Advantage: p.Advantage,
		})
	}
	if e.Pairs == nil {
		return
	}

	seed := e.Episode.Slot.Seed
	critic := e.spec.Critic
	review := credit.Review{
		Step: s.Step, Pairs: pairs, Seed: seed, Answers: rules.Reader(e.spec), Robust: critic.Rule == spec.RuleRobust,
		Speech: rules.Speech(e.spec),
		Flips:  credit.Flips{Share: critic.Error, Type: critic.WrongOn, Seed: seed},
	}
	if k := slices.IndexFunc(e.Pairs.Audit, func(audit credit.Audit) bool { return audit.Step == s.Number }); k >= 0 {
		review.Audit = &e.Pairs.Audit[k]
	}
	if known := e.Credits; known != nil && step < len(known.Steps) {
		review.Labels = known.Steps[step].Labels
	}
	d.Asked = e.proposed(&review, d)
	if review.Audit == nil {
		return
	}
	if d.Audit == nil {
		d.Audit = new(detailAudit)
	}
	cost := e.priceOfCritic(review.Audit.Usage)
	d.Audit.Blinded = review.Audit.Blinded
	d.Audit.Again = review.Audit.Again
	d.Audit.CostAgain = &cost
}

// proposed returns the adversary's calls about a step with the fate of its answers, and adds to the cells how the
// critic graded them again.
func (e Episode) proposed(review *credit.Review, step *detailStep) (out []detailCall) {
	if len(review.Labels) != len(review.Step.Decision.Cells) {
		return nil // pairs without labels have no calls
	}
	var all [][]credit.ProposedAnswer
	for _, c := range e.Pairs.Calls {
		if c.Step == review.Step.Number {
			call := detailCall{Agent: c.Agent, Round: c.Round, Refused: c.Refused}
			if price := e.priceOfAdversary(c.Usage); price.Money > 0 {
				call.Cost = &price
			}
			out = append(out, call)
			all = append(all, review.Call(c.Agent, c.Round, c.Texts))
		}
	}
	grades := review.Graded(all)
	for i, call := range all {
		for _, p := range call {
			out[i].Proposed = append(out[i].Proposed, detailProposal{Text: p.Text, Fate: p.Fate, Grade: p.Grade})
		}
	}
	for i := range step.Cells {
		cell := &step.Cells[i]
		if score, ok := grades[cell.Canonical]; ok && cell.Label != nil && *cell.Label == domain.Positive {
			cell.Again = &score
		}
	}

	return out
}
