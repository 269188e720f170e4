package credit

import (
	"cmp"
	"context"
	"slices"

	"github.com/collabui/collabui/domain"
)

// Unlabel labels all acts of speech of a step ∅.
func Unlabel(step domain.Step, labels []domain.Label) {
	for i, cell := range step.Decision.Cells {
		if speaks(cell) {
			labels[i] = domain.Uncertain
		}
	}
}

// speaks reports whether a cell is an act of speech.
func speaks(cell domain.Cell) bool { return cell.Action != nil && cell.Action.Speech() }

// passes reports whether a cell is a pass.
func passes(cell domain.Cell) bool { return speaks(cell) && cell.Action.Type == domain.ActionPass }

// heard is an act of speech with the calls that judge it.
type heard struct {
	cell    int
	readers []int
	calls   []*reply // of the readers, without the message; nil beyond the bound

	instead *reply // alternatives to a pass; nil beyond the bound
	options []option
}

// option is an alternative to a pass with the calls that judge it.
type option struct {
	cell    domain.Cell
	readers []int
	calls   []*reply // of the readers, with the alternative in the place of the pass
	open    bool     // beyond the bound
}

// Label labels the acts of speech of a step by their effects. The labels of actions are given, and remain.
//
//   - A tell or a point is 1 if more of its readers are right with it than without it, 0 if fewer, and ∅ if as many.
//   - A pass is 0 if an alternative helps: a right action, or speech with which more readers are right than with the
//     pass. It is 1 if none helps, and ∅ if that is unknown.
//
// What is beyond the bound is ∅. Errors are errors of the calls.
func (l *Listening) Label(ctx context.Context, step domain.Step, credit domain.Credit) (domain.Credit, error) {
	credit.Labels = slices.Clone(credit.Labels)
	Unlabel(step, credit.Labels)
	h := l.hear(step, credit)
	var acts []*heard
	for _, i := range h.inOrder(speaks) {
		act, err := h.act(i)
		if err != nil {
			return credit, err
		}
		acts = append(acts, act)
	}
	if err := h.sample(ctx); err != nil {
		return credit, err
	}
	for _, act := range acts {
		if err := h.options(act); err != nil {
			return credit, err
		}
	}
	if err := h.sample(ctx); err != nil {
		return credit, err
	}
	if err := h.grade(ctx, h.answers(acts)); err != nil {
		return credit, err
	}

	for _, act := range acts {
		if effect, label, ok := h.effect(act); ok {
			credit.Labels[act.cell] = label
			credit.Effects = append(credit.Effects, effect)
		}
	}
	slices.SortFunc(credit.Effects, func(a, b domain.Effect) int { return cmp.Compare(a.Cell, b.Cell) })

	return credit, nil
}

// act plans the calls that judge the act of speech in cell i.
func (h *hearing) act(i int) (*heard, error) {
	out := &heard{cell: i}
	if passes(h.step.Decision.Cells[i]) {
		out.instead = h.alternatives(i)

		return out, nil
	}
	out.readers = h.readers(i)
	var err error
	if len(out.readers) > 0 {
		out.calls, err = h.listen(i, out.readers, nil)
	}

	return out, err
}

// options reads the alternatives to a pass, and plans the calls of the readers of those that speak. Alternatives
// without an action, equal ones, and further passes are left out.
func (h *hearing) options(act *heard) error {
	if act.instead == nil {
		return nil
	}
	readers := h.readers(act.cell)
	seen := map[string]bool{}
	for _, text := range act.instead.asked.Texts {
		option := option{cell: h.cell(act.instead.asked, text, act.instead.prompt)}
		if option.cell.Action == nil || passes(option.cell) || seen[option.cell.Canonical] {
			continue
		}
		seen[option.cell.Canonical] = true
		if speaks(option.cell) && len(readers) > 0 {
			calls, err := h.listen(act.cell, readers, &option.cell.Text)
			if err != nil {
				return err
			}
			option.readers = readers
			option.calls = calls
			option.open = calls == nil
		}
		act.options = append(act.options, option)
	}

	return nil
}

// answers returns all sampled answers that the critic may have to label.
func (h *hearing) answers(acts []*heard) []domain.Cell {
	var out []domain.Cell
	add := func(calls []*reply) {
		for _, call := range calls {
			out = append(out, h.answer(call))
		}
	}
	for _, act := range acts {
		add(act.calls)
		for _, option := range act.options {
			out = append(out, option.cell)
			add(option.calls)
		}
	}

	return out
}

// effect returns the effect of an act of speech and its label. It returns false if the act is not judged.
func (h *hearing) effect(act *heard) (domain.Effect, domain.Label, bool) {
	effect := domain.Effect{Cell: act.cell}
	if !passes(h.step.Decision.Cells[act.cell]) {
		effect.Readers = h.readings(act.readers, act.calls)

		return effect, sign(gained(effect.Readers)), len(act.calls) > 0
	}
	if act.instead == nil || act.instead.asked.Refused != "" {
		return effect, domain.Uncertain, false
	}

	label := domain.Positive
	for _, option := range act.options {
		alternative := domain.Alternative{Text: option.cell.Text, Canonical: option.cell.Canonical}
		unknown := option.open
		if speaks(option.cell) {
			alternative.Readers = h.readings(option.readers, option.calls)
			alternative.Label = sign(-gained(alternative.Readers))
		} else {
			alternative.Label = h.label(option.cell)
			unknown = alternative.Label == domain.Uncertain
		}
		effect.Instead = append(effect.Instead, alternative)
		switch {
		case alternative.Label == domain.Positive:
			label = domain.Negative
		case unknown && label == domain.Positive:
			label = domain.Uncertain
		}
	}

	return effect, label, true
}

// sign returns the label of a message that makes n more readers right.
func sign(n int) domain.Label {
	switch {
	case n > 0:
		return domain.Positive
	case n < 0:
		return domain.Negative
	}

	return domain.Uncertain
}

// Said is what an agent could have said in the place of the message in a cell.
type Said struct {
	Cell int // index in Decision.Cells
	Text string
}

// Substitute labels what could have been said in the place of messages: 0 if fewer of the readers are right with it
// than with the message, and otherwise ∅. It is also ∅ beyond the bound. Errors are errors of the calls.
func (l *Listening) Substitute(
	ctx context.Context, step domain.Step, credit domain.Credit, said []Said,
) ([]domain.Label, error) {
	h := l.hear(step, credit)
	readers := make([][]int, len(said))
	calls := make([][]*reply, len(said))
	for k, other := range said {
		readers[k] = h.readers(other.Cell)
		if len(readers[k]) == 0 {
			continue
		}
		var err error
		if calls[k], err = h.listen(other.Cell, readers[k], &other.Text); err != nil {
			return nil, err
		}
	}
	if err := h.sample(ctx); err != nil {
		return nil, err
	}
	var answers []domain.Cell
	for _, call := range slices.Concat(calls...) {
		answers = append(answers, h.answer(call))
	}
	if err := h.grade(ctx, answers); err != nil {
		return nil, err
	}

	labels := make([]domain.Label, len(said))
	for k := range said {
		labels[k] = domain.Uncertain
		if gained(h.readings(readers[k], calls[k])) > 0 {
			labels[k] = domain.Negative
		}
	}

	return labels, nil
}
