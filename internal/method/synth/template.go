package synth

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
)

// Template is an author that follows fixed rules, without a model. It serves the small policy, which can only point and
// copy. Its items are true of the screen by construction.
type Template struct{}

// writer collects items. It chooses the wording of each item from several forms.
type writer struct {
	rng   *rand.Rand
	items []Item
}

func (w *writer) add(it Item, forms ...string) {
	it.Ask = forms[w.rng.IntN(len(forms))]
	w.items = append(w.items, it)
}

// Questions proposes questions that an element or words on the screen answer.
func (Template) Questions(_ context.Context, s Screen, n int, seed uint64) ([]Item, bool, error) {
	w := &writer{rng: domain.Rand(seed, "questions")}
	for _, element := range uniquelyNamed(s.Observation) {
		w.askAbout(element)
	}
	if s.Action != nil && s.Action.Index != nil && s.Action.Type == domain.ActionClick && s.After != nil {
		if title := newText(s.Observation, *s.After); title != "" {
			w.add(Item{Kind: KindEffect, Element: s.Action.Index},
				"Which element leads to "+title, "What brings "+title, "What must be tapped to see "+title)
		}
	}

	return pick(w.rng, w.items, n), true, nil
}

// askAbout adds the questions that an element answers.
func (w *writer) askAbout(e domain.Element) {
	at := &e.Index
	switch {
	case e.Role == "heading":
		w.add(Item{Kind: KindPurpose, Answer: e.Text},
			"What is this screen", "Which screen is this", "What is the title here")
	case e.Editable:
		w.add(Item{Kind: KindFunction, Element: at},
			"Which field takes the "+e.Text, "Where is "+e.Text+" typed", "Which element is the field "+e.Text)
		if e.Value != "" {
			w.add(Item{Kind: KindInformation, Answer: e.Value},
				"What does "+e.Text+" hold", "What stands in the field "+e.Text)
		}
	case hasState(e, "checked", "on", "selected"):
		w.add(Item{Kind: KindInformation, Element: at},
			"Which element is "+e.State[0]+" and called "+e.Text, "Where is "+e.Text)
	default:
		w.add(Item{Kind: KindFunction, Element: at},
			"Which element is the "+e.Role+" "+e.Text, "Where is "+e.Text, "Which "+e.Role+" says "+e.Text)
	}
	if e.Desc != "" && e.Text != "" {
		w.add(Item{Kind: KindInformation, Answer: e.Desc},
			"What does "+e.Text+" say of itself", "What belongs to "+e.Text)
	}
}

// Instructions proposes one-step goals that the screen allows: pointing, typing, going back, and up to two goals that
// the screen shows as reached.
func (Template) Instructions(_ context.Context, screen Screen, n int, seed uint64) ([]Item, bool, error) {
	rng := domain.Rand(seed, "instructions")
	openGoals := &writer{rng: rng}
	doneGoals := &writer{rng: rng}
	elements := uniquelyNamed(screen.Observation)
	for _, element := range elements {
		instruct(element, elements, openGoals, doneGoals)
	}
	if rng.IntN(4) == 0 {
		back := domain.Action{Type: domain.ActionBack}
		openGoals.add(Item{Reason: "This screen is to be left.", Action: &back},
			"Go back", "Leave this screen", "Return to the screen before")
	}
	out := pick(rng, openGoals.items, max(n-2, 1))

	return append(out, pick(rng, doneGoals.items, min(2, n-len(out)))...), true, nil
}

// instruct adds the goals that an element allows to openGoals, and the goals that it shows as reached to doneGoals.
func instruct(e domain.Element, elements []domain.Element, openGoals, doneGoals *writer) {
	add := func(action domain.Action, reason string, forms ...string) {
		openGoals.add(Item{Reason: reason, Action: &action}, forms...)
	}
	complete := func(forms ...string) {
		a := domain.Action{Type: domain.ActionStatus, GoalStatus: domain.StatusComplete}
		doneGoals.add(Item{Reason: "The screen shows that this is done.", Action: &a}, forms...)
	}

	click := domain.Action{Type: domain.ActionClick}.At(e.Index)
	switch {
	case e.Role == "heading" || e.Role == "text":
	case e.Editable:
		text := words(openGoals.rng, elements)
		add(domain.Action{Type: domain.ActionInputText, Text: text}.At(e.Index), e.Text+" takes the text.",
			fmt.Sprintf("Type %s into %s", text, e.Text),
			fmt.Sprintf("Enter %s in the field %s", text, e.Text),
			fmt.Sprintf("Set %s to %s", e.Text, text))
		if e.Value != "" {
			complete(fmt.Sprintf("Type %s into %s", e.Value, e.Text), fmt.Sprintf("Set %s to %s", e.Text, e.Value))
		}
	case hasState(e, "checked", "on", "selected"):
		verb := map[string]string{"checked": "Check ", "on": "Turn on ", "selected": "Choose "}[e.State[0]]
		complete(verb+e.Text, "Make sure that "+e.Text+" is "+e.State[0])
		if e.State[0] != "selected" {
			add(click, "A tap turns "+e.Text+" off.", "Turn off "+e.Text, "Remove the mark of "+e.Text)
		}
	case hasState(e, "unchecked", "off"):
		verb := map[string]string{"unchecked": "Check ", "off": "Turn on "}[e.State[0]]
		add(click, "A tap marks "+e.Text+".", verb+e.Text, "Select "+e.Text, "Mark "+e.Text)
	default:
		add(click, "The goal names "+e.Text+".",
			"Tap "+e.Text, "Press the "+e.Text+" "+e.Role, "Open "+e.Text, "Tap the "+e.Role+" "+e.Text)
	}
}

// uniquelyNamed returns the shown elements with a text that no other shown element has. Only they can be identified by
// their text.
func uniquelyNamed(observation domain.Observation) []domain.Element {
	times := map[string]int{}
	for _, element := range observation.Elements {
		if element.Shown() {
			times[strings.ToLower(element.Text)]++
		}
	}

	var out []domain.Element
	for _, e := range observation.Elements {
		unique := e.Shown() && strings.TrimSpace(e.Text) != "" && times[strings.ToLower(e.Text)] == 1
		if unique && !hasState(e, "disabled") {
			out = append(out, e)
		}
	}

	return out
}

// hasState reports whether an element's first state is one of the given states.
func hasState(element domain.Element, states ...string) bool {
	return len(element.State) > 0 && slices.Contains(states, element.State[0])
}

// newText returns the text of a named element that only the later screen has: the first heading, or else the first
// element.
func newText(before, after domain.Observation) string {
	old := map[string]bool{}
	for _, element := range before.Elements {
		old[element.Text] = true
	}
	var found []domain.Element
	for _, e := range uniquelyNamed(after) {
		if !old[e.Text] {
			found = append(found, e)
		}
	}

	if i := slices.IndexFunc(found, func(e domain.Element) bool { return e.Role == "heading" }); i >= 0 {
		return found[i].Text
	}
	if len(found) > 0 {
		return found[0].Text
	}

	return ""
}

// words returns one to three words to type. Some are words of the screen, so that goals also contain words that occur
// elsewhere; the others are made up.
func words(rng *rand.Rand, elements []domain.Element) string {
	const syllables = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu"
	all := strings.Fields(syllables)
	var out []string
	for range 1 + rng.IntN(3) {
		if element := elements[rng.IntN(len(elements))]; rng.IntN(3) == 0 && len(strings.Fields(element.Text)) == 1 {
			out = append(out, element.Text)

			continue
		}
		word := ""
		for range 2 + rng.IntN(2) {
			word += all[rng.IntN(len(all))]
		}
		out = append(out, word)
	}

	return strings.Join(out, " ")
}

// pick draws n items without replacement and keeps their order.
func pick(rng *rand.Rand, items []Item, n int) []Item {
	if n <= 0 {
		return nil
	}
	if len(items) <= n {
		return items
	}
	at := rng.Perm(len(items))[:n]
	slices.Sort(at)
	out := make([]Item, n)
	for i, k := range at {
		out[i] = items[k]
	}

	return out
}
