package credit

import (
	"slices"

	"github.com/collabui/collabui/domain"
)

// pair finds a rejected answer for a positive cell: the first candidate labelled 0, otherwise the agent's own cell of
// another round labelled 0, otherwise a peer's cell that the agent could have chosen.
func (r Rules) pair(s domain.Step, labels []domain.Label, i int, cands []candidate) (domain.Pair, bool) {
	cell := s.Decision.Cells[i]
	switch {
	case r.AdversaryOff:
		return newPair(s, cell, cell, domain.Cell{}, domain.SourceNone), true
	case r.OutcomeOnly:
		k := slices.IndexFunc(s.Decision.Cells, func(c domain.Cell) bool {
			return c.Action != nil && c.Canonical != cell.Canonical
		})
		if k < 0 {
			return domain.Pair{}, false
		}

		return newPair(s, cell, cell, s.Decision.Cells[k], domain.SourceOther), true
	}

	for _, c := range cands {
		if c.label == domain.Negative {
			return newPair(s, cell, cell, c.cell, domain.SourceAdversary), true
		}
	}
	own := func(c domain.Cell) bool { return c.Agent == cell.Agent && c.Round != cell.Round }
	if c, ok := negative(s, labels, own); ok {
		return newPair(s, cell, cell, c, domain.SourceOwn), true
	}
	peer := func(c domain.Cell) bool { return c.Agent != cell.Agent && legal(*c.Action, s, cell.Agent) }
	if c, ok := negative(s, labels, peer); ok {
		return newPair(s, cell, cell, c, domain.SourcePeer), true
	}

	return domain.Pair{}, false
}

// correction pairs a peer's right action with the agent's own wrong one, on the prompt of the agent's latest wrong
// cell.
func (r Rules) correction(s domain.Step, labels []domain.Label, agent int) (domain.Pair, bool) {
	if !r.Correction || r.AdversaryOff {
		return domain.Pair{}, false
	}
	wrong, ok := negative(s, labels, func(c domain.Cell) bool { return c.Agent == agent })
	if !ok {
		return domain.Pair{}, false
	}
	for i, c := range s.Decision.Cells {
		if labels[i] == domain.Positive && c.Agent != agent && legal(*c.Action, s, agent) {
			return newPair(s, wrong, c, wrong, domain.SourceCorrection), true
		}
	}

	return domain.Pair{}, false
}

// newPair returns a pair on the prompt of the cell at.
func newPair(s domain.Step, at, chosen, rejected domain.Cell, source domain.Source) domain.Pair {
	return domain.Pair{
		Agent:             at.Agent,
		Step:              s.Number,
		Round:             at.Round,
		Prompt:            at.Prompt,
		Chosen:            chosen.Text,
		ChosenCanonical:   chosen.Canonical,
		Rejected:          rejected.Text,
		RejectedCanonical: rejected.Canonical,
		Source:            source,
	}
}

// negative returns the last cell that parses, is labelled 0 and fits.
func negative(s domain.Step, labels []domain.Label, fits func(domain.Cell) bool) (domain.Cell, bool) {
	for i, c := range slices.Backward(s.Decision.Cells) {
		if labels[i] == domain.Negative && c.Action != nil && fits(c) {
			return c, true
		}
	}

	return domain.Cell{}, false
}

// legal reports whether the agent saw the element that the action points at by its index. An agent may see less than
// the screen shows. Records of older versions do not say what an agent saw; it then counts as all that the screen
// shows.
func legal(a domain.Action, s domain.Step, agent int) bool {
	if a.Index == nil {
		return true
	}
	if agent < len(s.Decision.Seen) {
		return slices.Contains(s.Decision.Seen[agent], *a.Index)
	}
	e, ok := s.Observation.Element(*a.Index)

	return ok && e.Shown()
}
