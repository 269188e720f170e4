package miniwob

import (
	"regexp"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
)

// memory is what the expert keeps of an episode: the actions so far, each as its type and the element's name, such as "click Submit".
type memory struct{ done []string }

func (m *memory) did(a domain.Action, o domain.Observation) {
	name := a.Direction
	if a.Index != nil {
		e, _ := o.Element(*a.Index)
		name = called(e)
	}
	m.done = append(m.done, a.Type+" "+name)
}

// called is an element's text or, where it has none, its description.
func called(e domain.Element) string {
	if e.Text != "" {
		return e.Text
	}
	return e.Desc
}

// play is what a strategy decides on: nothing but what an agent sees, and what it did.
type play struct {
	goal   string
	quoted []string // texts in double quotes in the goal
	o      domain.Observation
	memo   memory
}

// strategy gives the next action; ok is false where it knows none.
type strategy func(p play) (a domain.Action, ok bool)

// strategies by task. Tasks that share one differ in words and layout only.
var strategies = map[string]strategy{
	"buy-ticket": buyTicket, "choose-date": chooseDate, "choose-date-easy": chooseDate, "choose-date-medium": chooseDate, "choose-date-nodelay": chooseDate,
	"choose-list": chooseList, "click-button": clickNamed, "click-button-sequence": clickInTurn, "click-checkboxes": checkNamed, "click-checkboxes-large": checkNamed,
	"click-checkboxes-transfer": checkNamed, "click-collapsible": expandThenSubmit, "click-collapsible-2": uncover, "click-collapsible-2-nodelay": uncover,
	"click-collapsible-nodelay": expandThenSubmit, "click-color": clickColour, "click-dialog": clickClose, "click-dialog-2": clickNamed, "click-link": clickNamed,
	"click-option": checkNamed, "click-pie": openPie, "click-pie-nodelay": openPie, "click-scroll-list": checkNamed,
	"click-shades": clickShades, "click-shape": clickShape, "click-tab": clickNamed, "click-tab-2": uncover, "click-tab-2-easy": uncover, "click-tab-2-hard": uncover,
	"click-tab-2-medium": uncover, "click-test": clickOnly, "click-test-2": clickInTurn, "click-test-transfer": clickInTurn, "click-widget": clickWidget,
	"copy-paste": copyText, "copy-paste-2": copyText, "email-inbox": handleEmail, "email-inbox-delete": handleEmail, "email-inbox-forward": handleEmail,
	"email-inbox-important": handleEmail, "email-inbox-noscroll": handleEmail, "email-inbox-reply": handleEmail, "email-inbox-star-reply": handleEmail,
	"enter-date": enterGoal, "enter-password": fillQuoted, "enter-text": fillQuoted, "enter-text-2": fillQuoted, "enter-text-dynamic": fillQuoted,
	"enter-time": enterGoal, "find-greatest": findGreatest, "find-word": findWord, "focus-text": clickNth, "focus-text-2": clickNth, "form-sequence-2": fillSequence,
	"generate-number": generateNumber, "grid-coordinate": clickCoordinate, "guess-number": guessNumber, "login-user": fillQuoted, "login-user-popup": fillQuoted,
	"multi-layouts": fillLabelled, "multi-orderings": fillLabelled, "navigate-tree": uncover, "odd-or-even": oddOrEven, "phone-book": phoneBook,
	"read-table": readTable, "read-table-2": readTable, "search-engine": search, "simple-algebra": solve, "simple-arithmetic": solve, "social-media": socialMedia,
	"social-media-all": socialMedia, "social-media-some": socialMedia, "text-transform": typeShown, "unicode-test": clickNamed, "use-autocomplete": autocomplete,
	"use-autocomplete-nodelay": autocomplete, "use-spinner": spin, "visual-addition": countBlocks,
}

var inQuotes = regexp.MustCompile(`"([^"]*)"`)

// advise gives an action that helps, from the goal as the page says it, the observation and the episode's own past.
func advise(task, goal string, o domain.Observation, m memory) (domain.Action, bool) {
	s, ok := strategies[task]
	if !ok {
		return domain.Action{}, false
	}
	p := play{goal: goal, o: o, memo: m}
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

// all lists the elements that are shown and for which f holds.
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

// named finds an element by its text, one that takes clicks before one that is only text.
func (p play) named(text string) (domain.Element, bool) {
	same := func(e domain.Element) bool { return strings.EqualFold(e.Text, text) }
	exact := func(e domain.Element) bool { return e.Text == text }
	for _, f := range []func(domain.Element) bool{exact, same} {
		if e, ok := p.first(func(e domain.Element) bool { return f(e) && e.Role != "text" && e.Role != "cell" && !e.Editable }); ok {
			return e, true
		}
	}
	return p.first(func(e domain.Element) bool { return same(e) && !e.Editable })
}

// did tells whether an action was done: its type and the element's name.
func (p play) did(what string) bool { return slices.Contains(p.memo.done, what) }

// last is the action before.
func (p play) last() string {
	if len(p.memo.done) == 0 {
		return ""
	}
	return p.memo.done[len(p.memo.done)-1]
}

func has(e domain.Element, state string) bool { return slices.Contains(e.State, state) }

// submit presses the button that sends a form, which may have to be scrolled to.
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
