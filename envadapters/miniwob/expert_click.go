package miniwob

import (
	"regexp"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
)

// clickNamed clicks the element that the goal names in quotes, or as "on NAME.".
func clickNamed(p play) (domain.Action, bool) {
	if len(p.quoted) > 0 {
		if p.quoted[0] == "x" {
			return clickClose(p)
		}
		return click(p.named(p.quoted[0]))
	}

	_, name, _ := strings.Cut(p.goal, " on ")

	return click(p.named(strings.TrimSuffix(name, ".")))
}

// clickOnly clicks the only button.
func clickOnly(p play) (domain.Action, bool) { return click(p.first(roles("button"))) }

var (
	capitals = regexp.MustCompile(`\b[A-Z]{2,}\b`)
	ordinal  = regexp.MustCompile(`(\d+)(st|nd|rd|th)`)
)

// clickInTurn clicks the elements that the goal names, in quotes or in capitals, one after the other.
func clickInTurn(p play) (domain.Action, bool) {
	names := p.quoted
	if len(names) == 0 {
		names = capitals.FindAllString(p.goal, -1)
	}

	for _, name := range names {
		if !p.did("click " + name) {
			return click(p.named(name))
		}
	}

	return none, false
}

// checkNamed chooses exactly the boxes, radios or options that a list in the goal names, and submits.
func checkNamed(p play) (domain.Action, bool) {
	_, list, _ := strings.Cut(p.goal, "Select ")
	list, _, _ = strings.Cut(list, " and click ")
	list, _, _ = strings.Cut(list, " from the ")
	want := strings.Split(list, ", ")
	hidden := false
	for _, e := range p.o.Elements {
		on := has(e, "checked") || has(e, "selected")
		if !slices.Contains([]string{"checkbox", "radio", "option"}, e.Role) || on == slices.Contains(want, e.Text) {
			continue
		}
		if e.Shown() {
			return click(e, true)
		}
		hidden = true
	}

	if hidden {
		if e, ok := p.first(roles("option")); ok { // scroll inside the list
			action, _ := scroll("down")
			return action.At(e.Index), true
		}
		return scroll("down")
	}

	return p.submit()
}

// chooseList opens a drop-down list, chooses the option that the goal names and submits.
func chooseList(p play) (domain.Action, bool) {
	_, want, _ := strings.Cut(p.goal, "Select ")
	want, _, _ = strings.Cut(want, " from the ")
	if e, ok := p.first(roles("option")); ok {
		e, ok = p.first(func(x domain.Element) bool { return x.Role == e.Role && x.Text == want })
		return click(e, ok)
	}

	if e, ok := p.first(roles(domain.RoleSelect)); ok && e.Value != want {
		return click(e, true)
	}

	return p.submit()
}

// clickClose closes a dialog.
func clickClose(p play) (domain.Action, bool) {
	return click(p.first(func(e domain.Element) bool {
		return e.Role == "button" && (e.Text == "Close" || e.Desc == "Close")
	}))
}

// clickNth clicks the field whose number the goal gives.
func clickNth(p play) (domain.Action, bool) {
	n := nth(p.goal)
	fields := p.all(isField)
	if n > len(fields) {
		return none, false
	}

	return click(fields[n-1], true)
}

// expandThenSubmit opens the collapsed section and submits.
func expandThenSubmit(p play) (domain.Action, bool) {
	if e, ok := p.first(func(e domain.Element) bool { return has(e, "collapsed") }); ok {
		return click(e, true)
	}

	return p.submit()
}

var tabNumber = regexp.MustCompile(`^(Tab #)?\d+$`)

// isTab reports whether an element opens a section, a tab or a folder.
func isTab(e domain.Element) bool {
	return e.Role == "tab" || e.Role == "link" && tabNumber.MatchString(e.Text) ||
		strings.Contains(e.Desc, "expandable-hitarea")
}

// uncover opens sections, tabs or folders one after the other until the element that the goal names appears.
func uncover(p play) (domain.Action, bool) {
	if len(p.quoted) == 0 {
		return none, false
	}

	isNamed := func(e domain.Element) bool { return e.Text == p.quoted[0] && !isTab(e) }
	isActive := func(e domain.Element) bool { return isNamed(e) && e.Role != "text" }
	for _, f := range []func(domain.Element) bool{isActive, isNamed} {
		if e, ok := p.first(f); ok {
			return click(e, true)
		}
	}

	tabs := p.all(isTab)
	for k, e := range tabs {
		open := has(e, "expanded") || has(e, "selected") || k == 0 && e.Role == "link"
		if !open && (e.Text == "" || !p.did("click "+called(e))) {
			return click(e, true)
		}
	}

	if slices.ContainsFunc(p.o.Elements, func(e domain.Element) bool { return !e.Visible && e.Text != "" }) {
		return scroll("down")
	}

	return none, false
}

// openPie opens a pie menu, then takes the item that the goal names.
func openPie(p play) (domain.Action, bool) {
	if e, ok := p.first(func(e domain.Element) bool { return len(p.quoted) > 0 && e.Text == p.quoted[0] }); ok {
		return click(e, true)
	}

	return click(p.named("+"))
}

var colours = strings.Fields("red green blue cyan magenta yellow black white grey gray pink orange purple violet " +
	"brown aqua olive lime teal navy maroon")

// goalColour returns the colour that the goal names, or "".
func (p play) goalColour() string {
	for _, word := range strings.FieldsFunc(p.goal, func(r rune) bool { return strings.ContainsRune(" .,", r) }) {
		if word == "gray" {
			return "grey"
		}
		if word == "aqua" {
			return "cyan"
		}
		if slices.Contains(colours, word) {
			return word
		}
	}

	return ""
}

// clickColour clicks the box of the colour that the goal names.
func clickColour(p play) (domain.Action, bool) {
	c := p.goalColour()
	return click(p.first(func(e domain.Element) bool {
		return c != "" && e.Role == "item" && slices.Contains(strings.Fields(e.Desc), c)
	}))
}

// clickShades marks every box in a shade of the goal's colour and submits.
func clickShades(p play) (domain.Action, bool) {
	c := p.goalColour()
	if e, ok := p.first(func(e domain.Element) bool {
		return e.Role == "item" && slices.Contains(strings.Fields(e.Desc), c) && !has(e, "selected")
	}); ok {
		return click(e, true)
	}

	return p.submit()
}

// clickShape clicks an item of a size, a colour and a kind, as far as the goal names them.
func clickShape(p play) (domain.Action, bool) {
	c := p.goalColour()
	return click(p.first(func(e domain.Element) bool {
		if e.Role != "item" || strings.HasPrefix(e.Desc, "area") {
			return false
		}
		if c != "" && !slices.Contains(strings.Fields(e.Desc), c) {
			return false
		}
		large := e.Bounds[3] >= 18 // letters and shapes have 10 to 12 or 20 to 24 pixels
		if strings.Contains(p.goal, "small") && large || strings.Contains(p.goal, "large") && !large {
			return false
		}
		for _, kind := range []string{"circle", "rectangle", "triangle"} {
			if strings.Contains(p.goal, kind) {
				return strings.Contains(e.Desc, kind)
			}
		}
		digit := len(e.Text) == 1 && e.Text[0] <= '9'
		switch fields := strings.Fields(p.goal); fields[len(fields)-1] {
		case "digit":
			return digit
		case "letter":
			return e.Text != "" && !digit
		case "shape":
			return e.Text == ""
		case "item":
			return true
		default:
			return e.Text == fields[len(fields)-1]
		}
	}))
}

// clickWidget clicks an element of the kind that the goal names.
func clickWidget(p play) (domain.Action, bool) {
	kind := map[string]string{"button": "button", "checkbox": "checkbox", "radio": "radio"}[append(p.quoted, "")[0]]
	return click(p.first(func(e domain.Element) bool {
		if kind != "" {
			return e.Role == kind
		}
		return e.Editable && (append(p.quoted, "")[0] == "textarea") == (e.Bounds[3] > 24)
	}))
}

var coordinate = regexp.MustCompile(`\(-?\d,-?\d\)`)

// clickCoordinate clicks the point that the goal names.
func clickCoordinate(p play) (domain.Action, bool) {
	at := coordinate.FindString(p.goal)
	return click(p.first(func(e domain.Element) bool { return at != "" && strings.HasSuffix(e.Desc, at) }))
}
