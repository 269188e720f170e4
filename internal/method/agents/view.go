package agents

import (
	"strconv"
	"strings"

	"github.com/collabui/collabui/domain"
)

// View is what one agent sees at a step, messages apart.
type View struct {
	Goal        string
	History     []string // one line per past step
	Observation domain.Observation
	hidden      map[int]bool // indices of elements that view dropout hides from this agent
}

// Shown returns the elements that the agent's prompt shows: visible and not covered, not hidden, up to maxElements.
func (v View) Shown() []domain.Element {
	var out []domain.Element
	for _, e := range v.Observation.Elements {
		if e.Shown() && !v.hidden[e.Index] && len(out) < maxElements {
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

// dropout returns the view with each element hidden from the agent with probability share.
func (v View) dropout(share float64, seed uint64, agent int) View {
	v.hidden = nil
	if share <= 0 {
		return v
	}

	r := domain.Rand(seed, "view", agent)
	v.hidden = map[int]bool{}
	for _, e := range v.Observation.Elements {
		if r.Float64() < share {
			v.hidden[e.Index] = true
		}
	}

	return v
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
func ElementLine(e domain.Element) string {
	parts := []string{e.ID, e.Role}
	if e.ID == "" {
		parts[0] = strconv.Itoa(e.Index)
	}
	if t := Line(e.Text, maxElementText); t != "" {
		parts = append(parts, t)
	}
	if d := Line(e.Desc, maxElementText); d != "" {
		parts = append(parts, d)
	}
	if e.Editable {
		if e.Value == "" {
			parts = append(parts, "empty")
		} else {
			parts = append(parts, "holds "+Line(e.Value, maxElementText))
		}
	}

	return strings.Join(append(parts, e.State...), " ")
}

// Line folds white space and cuts the text after limit characters, so text of a page or a model can neither add a line
// nor imitate a section of a prompt.
func Line(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}

	return s
}
