package agents

import (
	"slices"
	"strconv"
	"strings"

	"github.com/collabui/collabui/domain"
)

// View is what one agent sees at a step, messages apart.
type View struct {
	Goal        string
	History     []string // one line per past step
	Observation domain.Observation
}

// Shown returns the elements that the agent's prompt shows: visible and not covered, up to maxElements.
func (v View) Shown() []domain.Element {
	var out []domain.Element
	for _, e := range v.Observation.Elements {
		if e.Shown() && len(out) < maxElements {
			out = append(out, e)
		}
	}

	return out
}

// recent returns the lines of the history that prompts show: the newest ones.
func (v View) recent() []string { return v.History[max(0, len(v.History)-maxHistory):] }

// indices returns the indices of the shown elements. It never returns nil.
func (v View) indices() []int {
	out := []int{}
	for _, e := range v.Shown() {
		out = append(out, e.Index)
	}

	return out
}

// Lines returns the elements that agents see, one per line.
func Lines(o domain.Observation) []string {
	var out []string
	for _, e := range o.Elements {
		if e.Shown() {
			out = append(out, ElementLine(e))
		}
	}

	return out
}

// ElementLine returns an element as agents see it: its ID or else its index, then role, text and state.
func ElementLine(e domain.Element) string { return see(e).String() }

// Seen is an element as a template for agents has it. It prints as its index, role, text and state, those that it has.
type Seen struct {
	Index string // or its ID
	Role  string
	Text  string // what it shows and its description
	State string // what it holds, checked, and so on
}

func see(e domain.Element) Seen {
	s := Seen{Index: Line(e.ID, maxID), Role: Line(e.Role, maxElementText)}
	s.Text = joined(Line(e.Text, maxElementText), Line(e.Desc, maxElementText))
	if e.ID == "" {
		s.Index = strconv.Itoa(e.Index)
	}
	var state []string
	if e.Editable {
		if e.Value == "" {
			state = append(state, "empty")
		} else {
			state = append(state, "holds "+Line(e.Value, maxElementText))
		}
	}
	s.State = Line(strings.Join(append(state, e.State...), " "), 4*maxElementText)

	return s
}

func (s Seen) String() string { return joined(s.Index+" "+s.Role, s.Text, s.State) }

// Name returns the text, then the index, then the role: a small policy copies what follows a text that it has read long
// before it learns to look up what precedes it.
func (s Seen) Name() string { return joined(s.Text, s.Index, s.Role) }

// joined returns the parts that are not empty, with spaces between.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}

// Line folds white space and cuts the text after limit characters, so text of a page or a model can neither add a line
// nor imitate a section of a prompt.
func Line(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= limit { // no text has more characters than bytes
		return s
	}
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}

	return s
}
