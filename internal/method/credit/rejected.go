package credit

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
)

// cellPairs returns the pairs of positive cell i, at most Negatives. Its rejected answers are, in this order, the
// candidates labelled 0, the agent's own cells of other rounds labelled 0, and peers' cells labelled 0 that the agent
// could have chosen. Within each group, the hardest come first, which are the ones that the policy finds most probable.
// No canonical action is rejected twice. With ChosenOnly, the only row is the cell without a rejected answer.
func (r Rules) cellPairs(step domain.Step, labels []domain.Label, i int, cands []candidate) []domain.Example {
	cell := step.Decision.Cells[i]
	if r.ChosenOnly {
		return []domain.Example{newPair(step, cell, cell, domain.Cell{}, domain.SourceNone)}
	}
	if r.OutcomeOnly {
		return r.outcomePairs(step, cell)
	}

	proposed := func(yield func(domain.Cell) bool) {
		for _, c := range cands {
			if c.label == domain.Negative && !yield(c.cell) {
				return
			}
		}
	}
	own := negatives(step, labels, func(c domain.Cell) bool { return c.Agent == cell.Agent && c.Round != cell.Round })
	peers := negatives(step, labels, func(c domain.Cell) bool {
		return c.Agent != cell.Agent && legal(*c.Action, step, cell)
	})

	var out []domain.Example
	seen := map[string]bool{cell.Canonical: true} // an act of speech may be right in one round and wrong in another
	for _, from := range []struct {
		source domain.Source
		cells  []domain.Cell
	}{
		{domain.SourceAdversary, sortHardest(slices.Collect(proposed))},
		{domain.SourceOwn, sortHardest(own)},
		{domain.SourcePeer, sortHardest(peers)},
	} {
		for _, c := range from.cells {
			if len(out) < r.Negatives && !seen[c.Canonical] {
				seen[c.Canonical] = true
				out = append(out, newPair(step, cell, cell, c, from.source))
			}
		}
	}

	return out
}

// outcomePairs pairs a cell with the first cell that parses and differs, because the ablation without a critic has no
// other evidence. If no cell differs, for example because one agent decides alone, there is no pair.
func (r Rules) outcomePairs(step domain.Step, cell domain.Cell) []domain.Example {
	for _, c := range step.Decision.Cells {
		if c.Action != nil && c.Canonical != cell.Canonical {
			return []domain.Example{newPair(step, cell, cell, c, domain.SourceOther)}
		}
	}

	return nil
}

// sortHardest sorts cells by decreasing log-probability. Cells whose log-probability is unknown come last and keep
// their order.
func sortHardest(cells []domain.Cell) []domain.Cell {
	slices.SortStableFunc(cells, func(a, b domain.Cell) int {
		return cmp.Compare(rank(b), rank(a))
	})

	return cells
}

func rank(cell domain.Cell) float64 {
	if cell.LogProb == 0 {
		return math.Inf(-1)
	}

	return cell.LogProb
}

// correction pairs a peer's right action with the agent's own wrong one, on the prompt of the agent's latest wrong
// cell.
func (r Rules) correction(step domain.Step, labels []domain.Label, agent int) (domain.Example, bool) {
	if !r.Correction {
		return domain.Example{}, false
	}
	mistakes := negatives(step, labels, func(cell domain.Cell) bool { return cell.Agent == agent })
	if len(mistakes) == 0 {
		return domain.Example{}, false
	}
	wrong := mistakes[0]
	for i, c := range step.Decision.Cells {
		if labels[i] == domain.Positive && c.Votes() && c.Agent != agent && legal(*c.Action, step, wrong) {
			return newPair(step, wrong, c, wrong, domain.SourceCorrection), true
		}
	}

	return domain.Example{}, false
}

// newPair makes a pair on the prompt of the cell at.
func newPair(step domain.Step, at, chosen, rejected domain.Cell, source domain.Source) domain.Example {
	return domain.Example{
		Agent:             at.Agent,
		Step:              step.Number,
		Round:             at.Round,
		Prompt:            at.Prompt,
		Image:             at.Image,
		Chosen:            chosen.Text,
		ChosenCanonical:   chosen.Canonical,
		Rejected:          rejected.Text,
		RejectedCanonical: rejected.Canonical,
		Source:            source,
	}
}

// negatives returns the cells that parse, are labelled 0 and fit, from last to first.
func negatives(step domain.Step, labels []domain.Label, fits func(domain.Cell) bool) []domain.Cell {
	var out []domain.Cell
	for i, cell := range slices.Backward(step.Decision.Cells) {
		if labels[i] == domain.Negative && cell.Action != nil && fits(cell) {
			out = append(out, cell)
		}
	}

	return out
}

// legal reports whether an action is legal in a cell's prompt: the prompt shows the element that the action names by
// index or ID, or a peer named it there. Words that an agent tells must occur in the prompt. An agent may see less than
// the whole screen. Records of older versions do not contain what an agent saw, so everything that the screen shows
// counts as seen.
func legal(action domain.Action, step domain.Step, x domain.Cell) bool {
	if action.Type == domain.ActionTell {
		return strings.Contains(strings.ToLower(x.Prompt), strings.ToLower(strings.TrimSpace(action.Text)))
	}
	if action.Index == nil && action.Element == "" {
		return true
	}
	e, ok := action.Named(step.Observation)
	if !ok || slices.Contains(x.Told, e.Index) {
		return ok
	}
	if x.Agent < len(step.Decision.Seen) {
		return slices.Contains(step.Decision.Seen[x.Agent], e.Index) && !slices.Contains(x.LeftOut.Elements, e.Index)
	}

	return e.Shown()
}
