package infer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
)

// Forms shows both forms of a request, for error messages.
const Forms = `expected a JSON object {"goal":"Send it","history":["1 click item Mail"],` +
	`"elements":[{"i":0,"role":"button","text":"Send","visible":true}]} ` +
	`(or "observation":{"elements":[…]} in place of "elements"), or the text of the agents' prompt: ` +
	`"Goal: Send it\nHistory: none\nScreen:\n0 button Send" (with a history: "History:\n1 click item Mail\nScreen:…")`

// ParseView parses a request in one of the two Forms into the view of agents of an action family. Any other text is an
// invalid fault that shows both forms.
//
// In JSON, an element may omit "i", which defaults to its position in the list, and "visible", which defaults to true.
// The text form has neither targets nor hidden elements. If a label stands for its field, only the JSON form leads to
// the decision that the agents make in the environment.
func ParseView(text string, family domain.Family) (agents.View, error) {
	text = strings.TrimLeft(strings.ReplaceAll(text, "\r\n", "\n"), " \t\n")

	var view agents.View
	var err error
	if strings.HasPrefix(text, "{") {
		view, err = parseJSON(text)
	} else {
		view, err = parsePrompt(text, family)
	}

	if err == nil && strings.TrimSpace(view.Goal) == "" {
		err = errors.New("the goal is empty")
	}
	if err != nil {
		return agents.View{}, fault.New(fault.Invalid, "the request cannot be read: %w; %s", err, Forms)
	}

	return view, nil
}

// element is domain.Element with two members that may be omitted.
type element struct {
	domain.Element
	Index   *int  `json:"i"`
	Visible *bool `json:"visible"`
}

// complete returns the element with its defaults. place is its position in the list.
func (e element) complete(place int) domain.Element {
	out := e.Element
	out.Index = place
	if e.Index != nil {
		out.Index = *e.Index
	}
	out.Visible = e.Visible == nil || *e.Visible

	return out
}

type viewJSON struct {
	Goal        string     `json:"goal"`
	History     []string   `json:"history"`
	Elements    *[]element `json:"elements"`
	Observation *struct {
		Width    int       `json:"width"`
		Height   int       `json:"height"`
		Elements []element `json:"elements"`
	} `json:"observation"`
}

func parseJSON(text string) (view agents.View, err error) {
	var q viewJSON
	if err := decodeStrict(strings.NewReader(text), &q); err != nil {
		return view, err
	}

	view.Goal = q.Goal
	view.History = q.History
	var list []element
	switch {
	case (q.Elements == nil) == (q.Observation == nil):
		return view, errors.New(`it must have one of "elements" and "observation"`)
	case q.Elements != nil:
		list = *q.Elements
	default:
		list = q.Observation.Elements
		view.Observation.Width = q.Observation.Width
		view.Observation.Height = q.Observation.Height
	}

	seen := map[int]bool{}
	for k, x := range list {
		e := x.complete(k)
		if e.Role == "" || e.Index < 0 || seen[e.Index] {
			return view, fmt.Errorf(`element %d of the list (i=%d) must have a "role" and an "i" from 0 of its own`,
				k, e.Index)
		}

		seen[e.Index] = true
		view.Observation.Elements = append(view.Observation.Elements, e)
	}

	return view, nil
}

// decodeStrict decodes one JSON value that nothing follows. Unknown members are errors.
func decodeStrict(reader io.Reader, to any) error {
	dec := json.NewDecoder(reader)
	dec.DisallowUnknownFields()
	if err := dec.Decode(to); err != nil {
		return err
	}

	if _, err := dec.Token(); err != io.EOF {
		return errors.New("there is more after the JSON object")
	}

	return nil
}

// parsePrompt is the inverse of the agents' built-in prompt: rendering the view yields the same text.
func parsePrompt(text string, family domain.Family) (view agents.View, err error) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if view.Goal, view.History, lines, err = parseHead(lines); err != nil {
		return view, err
	}

	seen := map[int]bool{}
	for k, line := range lines {
		e, err := parseElement(line, k, family)
		if err != nil {
			return view, err
		}
		if seen[e.Index] {
			return view, fmt.Errorf("two elements have the index %d", e.Index)
		}

		seen[e.Index] = true
		view.Observation.Elements = append(view.Observation.Elements, e)
	}

	return view, nil
}

// parseHead parses a prompt up to the line "Screen:" and returns the lines after it.
func parseHead(lines []string) (goal string, history, rest []string, err error) {
	next := func() string {
		if len(lines) == 0 {
			return ""
		}
		line := lines[0]
		lines = lines[1:]

		return line
	}

	goal, ok := strings.CutPrefix(next(), "Goal: ")
	if !ok {
		return goal, nil, nil, errors.New(`its first line does not begin with "Goal: "`)
	}

	switch next() {
	case "History: none":
		if next() != "Screen:" {
			return goal, nil, nil, errors.New(`"Screen:" must follow "History: none"`)
		}
	case "History:":
		for l := next(); l != "Screen:"; l = next() {
			if len(lines) == 0 {
				return goal, nil, nil, errors.New(`the history is not followed by a line "Screen:"`)
			}
			history = append(history, l)
		}
	default:
		return goal, nil, nil, errors.New(`its second line is neither "History: none" nor "History:"`)
	}

	return goal, history, lines, nil
}

// parseElement is the inverse of agents.ElementLine as far as agents can see: the line does not show which of its words
// are text, value or state, but the returned element has the same line.
func parseElement(line string, place int, family domain.Family) (domain.Element, error) {
	e := domain.Element{Index: place, Visible: true}
	name, rest, ok := strings.Cut(line, " ")
	n, err := strconv.Atoi(name)

	switch {
	case isSpeech(line):
		return e, errors.New("leave out what agents said: the system queries them itself")
	case strings.HasPrefix(line, "Left out: "):
		return e, errors.New("give the whole screen: the system leaves out what its policies cannot read")
	case family == domain.FamilyWeb && name != "" && ok:
		e.ID = name
	case family != domain.FamilyWeb && err == nil && n >= 0 && strconv.Itoa(n) == name && ok:
		e.Index = n
	default:
		return e, fmt.Errorf("the screen's line %d, %q, is not an element: expected %s, role, text",
			place+1, agents.Line(line, 60), nameOf(family))
	}

	var text string
	e.Role, text, _ = strings.Cut(rest, " ")
	e.Text = text
	if agents.ElementLine(e) != line { // longer than a text may be, so the line contains more than the text
		e.Text = ""
		e.State = []string{text}
	}

	return e, nil
}

// isSpeech reports whether a line of a prompt contains an agent's message.
func isSpeech(line string) bool {
	return strings.HasPrefix(line, "You said:") ||
		strings.HasPrefix(line, "Agent ") && strings.Contains(line, " said, maybe wrong:")
}

// nameOf returns the word for the name by which agents of a family refer to elements.
func nameOf(family domain.Family) string {
	if family == domain.FamilyWeb {
		return "ID"
	}

	return "index"
}
