package view

import (
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
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
	made := e.PairsOf(s.Number)
	for _, p := range made {
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
	r := credit.Review{
		Step: s.Step, Pairs: made, Seed: seed, Answers: e.spec.Answers, Robust: critic.Rule == spec.RuleRobust,
		Flips: credit.Flips{Share: critic.Error, Type: critic.WrongOn, Seed: seed},
	}
	if k := slices.IndexFunc(e.Pairs.Audit, func(a credit.Audit) bool { return a.Step == s.Number }); k >= 0 {
		r.Audit = &e.Pairs.Audit[k]
	}
	if known := e.Credits; known != nil && step < len(known.Steps) {
		r.Labels = known.Steps[step].Labels
	}
	d.Asked = e.proposed(&r, d)
	if r.Audit == nil {
		return
	}
	if d.Audit == nil {
		d.Audit = new(detailAudit)
	}
	again := e.priceOfCritic(r.Audit.Usage)
	d.Audit.Blinded = r.Audit.Blinded
	d.Audit.Again = r.Audit.Again
	d.Audit.CostAgain = &again
}

// proposed returns the adversary's calls about a step with the fate of its answers, and adds to the cells how the
// critic graded them again.
func (e Episode) proposed(r *credit.Review, d *detailStep) (out []detailCall) {
	if len(r.Labels) != len(r.Step.Decision.Cells) {
		return nil // pairs without labels have no calls
	}
	var all [][]credit.Proposed
	for _, c := range e.Pairs.Calls {
		if c.Step == r.Step.Number {
			call := detailCall{Agent: c.Agent, Round: c.Round, Refused: c.Refused}
			if price := e.priceOfAdversary(c.Usage); price.Money > 0 {
				call.Cost = &price
			}
			out = append(out, call)
			all = append(all, r.Call(c.Agent, c.Round, c.Texts))
		}
	}
	again := r.Graded(all)
	for i, call := range all {
		for _, p := range call {
			out[i].Proposed = append(out[i].Proposed, detailProposal{Text: p.Text, Fate: p.Fate, Grade: p.Grade})
		}
	}
	for i := range d.Cells {
		c := &d.Cells[i]
		if g, ok := again[c.Canonical]; ok && c.Label != nil && *c.Label == domain.Positive {
			c.Again = &g
		}
	}

	return out
}
