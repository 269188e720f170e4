package agents

import (
	"slices"
	"strconv"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
)

// View is what one agent sees at a step, apart from messages.
type View struct {
	Goal        string
	History     []string // one line per past step
	Observation domain.Observation
	// Seen holds the indices of the elements that the agent sees, in ascending order. If it is nil, the agent sees all.
	Seen []int
	// Picture is the picture of what the agent sees. It is empty if the agent sees text only.
	Picture chat.Image
	// Parts holds the pictures of the regions of a screen that is divided, in the order in which Views.Deal returns
	// them. If it is nil, all agents see Picture.
	Parts []chat.Image
}

// Shown returns the elements that the agent's prompt shows: the first maxElements that are visible, not covered, and in
// its view.
func (v View) Shown() []domain.Element {
	visible := v.visible()

	return visible[:min(len(visible), maxElements)]
}

// beyond returns the number of elements in view that are not shown because there are too many.
func (v View) beyond() int { return max(0, len(v.visible())-maxElements) }

func (v View) visible() []domain.Element {
	var out []domain.Element
	for _, element := range v.Observation.Elements {
		inView := v.Seen == nil || slices.Contains(v.Seen, element.Index)
		if element.Shown() && inView {
			out = append(out, element)
		}
	}

	return out
}

// indices returns the indices of the shown elements. It never returns nil.
func (v View) indices() []int {
	out := []int{}
	for _, element := range v.Shown() {
		out = append(out, element.Index)
	}

	return out
}

// Lines returns the elements that agents see as text, one per line, within SmallLimits.
func Lines(observation domain.Observation) []string { return SmallLimits.Lines(observation) }

// ElementLine returns an element as agents see it within SmallLimits.
func ElementLine(element domain.Element) string { return SmallLimits.ElementLine(element) }

// Seen is an element as the agents' template receives it. It prints as its index, role, text and state, without empty
// parts.
type Seen struct {
	Index string // its ID, or its index if it has no ID
	Role  string
	Text  string // its text and its description
	State string // its value and its states, such as checked
}

func (l Limits) seen(element domain.Element) Seen {
	l = l.OrSmall()
	seen := Seen{Index: Line(element.ID, maxID), Role: Line(element.Role, l.Element)}
	seen.Text = joinParts(Line(element.Text, l.Element), Line(element.Desc, l.Element))
	if element.ID == "" {
		seen.Index = strconv.Itoa(element.Index)
	}
	var state []string
	if element.Editable {
		if element.Value == "" {
			state = append(state, "empty")
		} else {
			state = append(state, "holds "+Line(element.Value, l.Element))
		}
	}
	seen.State = Line(strings.Join(append(state, element.State...), " "), 4*l.Element)

	return seen
}

func (s Seen) String() string { return joinParts(s.Index+" "+s.Role, s.Text, s.State) }

// Name returns the text, then the index, then the role. A small policy learns to copy what follows a text that it has
// read long before it learns to look up what precedes the text.
func (s Seen) Name() string { return joinParts(s.Text, s.Index, s.Role) }

// joinParts joins the parts that are not empty with spaces.
func joinParts(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}

// Line folds white space into single spaces and cuts the text after limit characters, so text of a page or a model can
// neither add a line nor imitate a section of a prompt.
func Line(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= limit { // no text has more characters than bytes
		return text
	}
	if r := []rune(text); len(r) > limit {
		text = string(r[:limit]) + "…"
	}

	return text
}
