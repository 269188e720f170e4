package agents

import (
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/collabui/collabui/domain"
)

// Fit renders the user message as User does, and also returns what the message lacks. Besides what the limits cut, a
// Bounded template leaves out as little as possible, in this order: lines of the history, the oldest first, except the
// newest one and the notes; distant elements, from the end of the screen; all other elements, from the end. The goal,
// the agent's own previous answer and its peers' messages always stay. Errors are errors of the template. Fit may be
// repeated.
func (t *Template) Fit(view View, own string, peers []Message) (string, domain.LeftOut, error) {
	text, left, err := t.fit(view, own, peers)
	if err != nil {
		return text, left, err
	}
	left.Texts = t.shortened(view, own, peers, left)
	left.Older = len(view.History) - len(t.recent(view))
	left.Beyond = view.beyond()

	return text, left, nil
}

// fit renders the user message, and returns what it leaves out because the policy reads no more.
func (t *Template) fit(view View, own string, peers []Message) (string, domain.LeftOut, error) {
	nothing := domain.LeftOut{}
	text, err := t.render(view, own, peers, nothing)
	if err != nil || t.excess == nil || t.excess(text) == 0 {
		return text, nothing, err
	}

	newest := 1
	if Notes(view.History) != "" {
		newest = 2
	}
	lines := max(0, len(t.recent(view))-newest)
	elements := t.omissionOrder(view, own, peers)
	leftOutAt := func(n int) domain.LeftOut {
		n++
		left := domain.LeftOut{History: min(n, lines), Elements: append([]int(nil), elements[:max(0, n-lines)]...)}
		slices.Sort(left.Elements)

		return left
	}
	n := sort.Search(lines+len(elements)-1, func(n int) bool {
		shorter, e := t.render(view, own, peers, leftOutAt(n))
		if e != nil {
			err = e
		}

		return t.excess(shorter) == 0
	})
	if err != nil || lines+len(elements) == 0 {
		return text, nothing, err
	}

	left := leftOutAt(n)
	text, err = t.render(view, own, peers, left)

	return text, left, err
}

// omissionOrder returns the indices of the shown elements in the order in which they are left out. An element is near
// if the action in the agent's previous answer or in a peer's message names it, or if its text shares a word with the
// goal or the history. All others are distant and come first.
func (t *Template) omissionOrder(view View, own string, peers []Message) []int {
	known := words(view.Goal + " " + strings.Join(t.recent(view), " "))
	namedByAgents := map[int]bool{}
	for _, message := range append([]Message{{Text: own}}, peers...) {
		if parsed := Usual.read(message.Text); parsed.err == nil && parsed.action.Index != nil {
			namedByAgents[*parsed.action.Index] = true
		}
	}

	var distant, near []int
	for _, element := range slices.Backward(view.Shown()) {
		group := &distant
		if namedByAgents[element.Index] {
			group = &near
		}
		for word := range words(element.Text + " " + element.Desc + " " + element.Value) {
			if known[word] {
				group = &near
			}
		}
		*group = append(*group, element.Index)
	}

	return append(distant, near...)
}

// peerElements returns the indices of the elements on the screen that a peer's action names although the agent's prompt
// does not show them.
func (v View) peerElements(left domain.LeftOut, peers []Message) []int {
	var out []int
	for _, message := range peers {
		parsed := Usual.read(message.Text)
		if parsed.err != nil {
			continue
		}
		element, ok := parsed.action.Named(v.Observation)
		seen := slices.Contains(v.indices(), element.Index) && !slices.Contains(left.Elements, element.Index)
		if ok && element.Shown() && !seen && !slices.Contains(out, element.Index) {
			out = append(out, element.Index)
		}
	}

	return out
}

// words returns the set of lower-cased words of a text.
func words(text string) map[string]bool {
	out := map[string]bool{}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		out[word] = true
	}

	return out
}
