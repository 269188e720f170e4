package agents

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/collabui/collabui/domain"
)

// Fit renders the user message, as User does, and returns what it leaves out. Only a Bounded template leaves anything
// out, and no more than it must, in this order: the lines of the history, the oldest first, except the newest one; the
// distant elements, the last of the screen first; the other elements, the last first. The goal, the agent's own words
// and its peers' words always stay. The call may be repeated.
func (t *Template) Fit(v View, own string, peers []Message) (string, domain.LeftOut, error) {
	none := domain.LeftOut{}
	text, err := t.render(v, own, peers, none)
	if err != nil || t.over == nil || t.over(text) == 0 {
		return text, none, err
	}

	lines := max(0, len(v.recent())-1)
	elements := v.expendable(own, peers)
	leave := func(n int) domain.LeftOut {
		n++
		left := domain.LeftOut{History: min(n, lines), Elements: append([]int(nil), elements[:max(0, n-lines)]...)}
		slices.Sort(left.Elements)

		return left
	}
	n := sort.Search(lines+len(elements)-1, func(n int) bool {
		shorter, e := t.render(v, own, peers, leave(n))
		if e != nil {
			err = e
		}

		return t.over(shorter) == 0
	})
	if err != nil || lines+len(elements) == 0 {
		return text, none, err
	}

	left := leave(n)
	text, err = t.render(v, own, peers, left)

	return text, left, err
}

// expendable returns the indices of the shown elements in the order in which they are left out. An element is near if
// an action of the agent's own or a peer's words names it, or if its text shares a word with the goal or the history;
// all others are distant and come first.
func (v View) expendable(own string, peers []Message) []int {
	known := words(v.Goal + " " + strings.Join(v.recent(), " "))
	named := map[int]bool{}
	for _, m := range append([]Message{{Text: own}}, peers...) {
		if a, err := ParseAnswer(m.Text); err == nil && a.Index != nil {
			named[*a.Index] = true
		}
	}

	var distant, near []int
	for _, e := range slices.Backward(v.Shown()) {
		at := &distant
		if named[e.Index] {
			at = &near
		}
		for w := range words(e.Text + " " + e.Desc + " " + e.Value) {
			if known[w] {
				at = &near
			}
		}
		*at = append(*at, e.Index)
	}

	return append(distant, near...)
}

// told returns the indices of the screen's elements that a prompt does not show but a peer's action names.
func (v View) told(left domain.LeftOut, peers []Message) []int {
	var out []int
	for _, m := range peers {
		a, err := ParseAnswer(m.Text)
		if err != nil {
			continue
		}
		e, ok := a.Named(v.Observation)
		seen := slices.Contains(v.indices(), e.Index) && !slices.Contains(left.Elements, e.Index)
		if ok && e.Shown() && !seen && !slices.Contains(out, e.Index) {
			out = append(out, e.Index)
		}
	}

	return out
}

// words returns the lower-cased words of a text.
func words(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		out[w] = true
	}

	return out
}

// leftOut says in a prompt what it lacks, such as "3 history lines, 1 element". It is empty if it lacks nothing.
func leftOut(l domain.LeftOut) string {
	var out []string
	for _, x := range []struct {
		n    int
		what string
	}{{n: l.History, what: "history line"}, {n: len(l.Elements), what: "element"}} {
		switch {
		case x.n == 1:
			out = append(out, "1 "+x.what)
		case x.n > 1:
			out = append(out, fmt.Sprintf("%d %ss", x.n, x.what))
		}
	}

	return strings.Join(out, ", ")
}
