package miniwob

import (
	"regexp"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
)

// memory contains the actions of an episode so far, each as its type and the element's name, such as "click Submit".
// The expert has no other state.
type memory struct{ done []string }

func (m *memory) did(action domain.Action, observation domain.Observation) {
	name := action.Direction
	if action.Index != nil {
		e, _ := observation.Element(*action.Index)
		name = called(e)
	}

	m.done = append(m.done, action.Type+" "+name)
}

// called returns an element's text or, without a text, its description.
func called(e domain.Element) string {
	if e.Text != "" {
		return e.Text
	}

	return e.Desc
}

// play is the input of a strategy: the view of an agent, and its actions so far.
type play struct {
	goal   string
	quoted []string // the texts in double quotes in the goal
	o      domain.Observation
	memo   memory
}

// strategy returns the next action. ok is false if it knows of none.
type strategy func(p play) (a domain.Action, ok bool)

var inQuotes = regexp.MustCompile(`"([^"]*)"`)

// advise returns an action that helps, based on the goal, the observation and the episode so far.
func advise(task, goal string, observation domain.Observation, m memory) (domain.Action, bool) {
	s, ok := strategies[task]
	if !ok {
		return domain.Action{}, false
	}

	p := play{goal: goal, o: observation, memo: m}
	for _, q := range inQuotes.FindAllStringSubmatch(goal, -1) {
		p.quoted = append(p.quoted, q[1])
	}

	return s(p)
}

var none domain.Action

func click(e domain.Element, ok bool) (domain.Action, bool) {
	return domain.Action{Type: domain.ActionClick}.At(e.Index), ok
}

func enter(e domain.Element, text string) (domain.Action, bool) {
	return domain.Action{Type: domain.ActionInputText, Text: text}.At(e.Index), text != ""
}

func scroll(direction string) (domain.Action, bool) {
	return domain.Action{Type: domain.ActionScroll, Direction: direction}, true
}

// all returns the shown elements for which f holds.
func (p play) all(f func(e domain.Element) bool) []domain.Element {
	var out []domain.Element
	for _, e := range p.o.Elements {
		if e.Shown() && f(e) {
			out = append(out, e)
		}
	}

	return out
}

func (p play) first(f func(e domain.Element) bool) (domain.Element, bool) {
	if all := p.all(f); len(all) > 0 {
		return all[0], true
	}

	return domain.Element{}, false
}

func roles(names ...string) func(domain.Element) bool {
	return func(e domain.Element) bool { return slices.Contains(names, e.Role) }
}

func isField(e domain.Element) bool { return e.Editable }

// named finds an element by its text. It prefers elements that take clicks to plain text.
func (p play) named(text string) (domain.Element, bool) {
	same := func(e domain.Element) bool { return strings.EqualFold(e.Text, text) }
	exact := func(e domain.Element) bool { return e.Text == text }
	for _, f := range []func(domain.Element) bool{exact, same} {
		active := func(e domain.Element) bool {
			return f(e) && e.Role != "text" && e.Role != "cell" && !e.Editable
		}
		if e, ok := p.first(active); ok {
			return e, true
		}
	}

	return p.first(func(e domain.Element) bool { return same(e) && !e.Editable })
}

// did reports whether an action was done. what is its type and the element's name.
func (p play) did(what string) bool { return slices.Contains(p.memo.done, what) }

// lastAction returns the previous action, or "" before the first one.
func (p play) lastAction() string {
	if len(p.memo.done) == 0 {
		return ""
	}

	return p.memo.done[len(p.memo.done)-1]
}

func has(e domain.Element, state string) bool { return slices.Contains(e.State, state) }

// submit presses the button that sends a form. It scrolls to the button first if necessary.
func (p play) submit() (domain.Action, bool) {
	for _, name := range []string{"Submit", "Login", "Log in", "OK", "Search", "Go!", "Buy", "Send"} {
		for _, e := range p.o.Elements {
			if strings.EqualFold(e.Text, name) && !e.Editable && e.Shown() {
				return click(e, true)
			}
		}
		if slices.ContainsFunc(p.o.Elements, func(e domain.Element) bool { return e.Text == name && !e.Visible }) {
			return scroll("down")
		}
	}

	return none, false
}
