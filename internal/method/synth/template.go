package synth

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
)

// Template writes items by fixed rules, with no model: for the small policy, which can only point and copy, and wherever none is at hand. Everything that it says is
// true of the screen by construction.
type Template struct{}

// Questions asks what can be answered by an element, or by words that stand on the screen.
func (Template) Questions(_ context.Context, s Screen, n int, seed uint64) ([]Item, bool, error) {
	rng := domain.Rand(seed, "questions")
	var out []Item
	ask := func(kind, answer string, element *int, forms ...string) {
		out = append(out, Item{Kind: kind, Ask: forms[rng.IntN(len(forms))], Answer: answer, Element: element})
	}
	for _, e := range named(s.Observation) {
		at := &e.Index
		switch {
		case e.Role == "heading":
			ask(KindPurpose, e.Text, nil, "What is this screen", "Which screen is this", "What is the title here")
		case e.Editable:
			ask(KindFunction, "", at, "Which field takes the "+e.Text, "Where is "+e.Text+" typed", "Which element is the field "+e.Text)
			if e.Value != "" {
				ask(KindInformation, e.Value, nil, "What does "+e.Text+" hold", "What stands in the field "+e.Text)
			}
		case has(e, "checked", "on", "selected"):
			ask(KindInformation, "", at, "Which element is "+e.State[0]+" and called "+e.Text, "Where is "+e.Text)
		default:
			ask(KindFunction, "", at, "Which element is the "+e.Role+" "+e.Text, "Where is "+e.Text, "Which "+e.Role+" says "+e.Text)
		}
		if e.Desc != "" && e.Text != "" {
			ask(KindInformation, e.Desc, nil, "What does "+e.Text+" say of itself", "What belongs to "+e.Text)
		}
	}
	if s.Action != nil && s.Action.Index != nil && s.Action.Type == domain.ActionClick && s.After != nil {
		if title := fresh(s.Observation, *s.After); title != "" {
			ask(KindEffect, "", s.Action.Index, "Which element leads to "+title, "What brings "+title, "What must be tapped to see "+title)
		}
	}
	return pick(rng, out, n), true, nil
}

// Instructions are one-step goals that the screen allows, with their actions: pointing, typing, going back, holding, and two that the screen shows as done.
func (Template) Instructions(_ context.Context, s Screen, n int, seed uint64) ([]Item, bool, error) {
	rng := domain.Rand(seed, "instructions")
	var out, done []Item
	say := func(a domain.Action, reason string, forms ...string) {
		out = append(out, Item{Ask: forms[rng.IntN(len(forms))], Reason: reason, Action: &a})
	}
	complete := func(forms ...string) {
		done = append(done, Item{Ask: forms[rng.IntN(len(forms))], Reason: "The screen shows that this is done.", Action: &domain.Action{Type: domain.ActionStatus, GoalStatus: domain.StatusComplete}})
	}
	els := named(s.Observation)
	for _, e := range els {
		click := domain.Action{Type: domain.ActionClick}.At(e.Index)
		switch {
		case e.Role == "heading" || e.Role == "text":
		case e.Editable:
			text := words(rng, els)
			say(domain.Action{Type: domain.ActionInputText, Text: text}.At(e.Index), e.Text+" takes the text.", fmt.Sprintf("Type %s into %s", text, e.Text), fmt.Sprintf("Enter %s in the field %s", text, e.Text), fmt.Sprintf("Set %s to %s", e.Text, text))
			if e.Value != "" {
				complete(fmt.Sprintf("Type %s into %s", e.Value, e.Text), fmt.Sprintf("Set %s to %s", e.Text, e.Value))
			}
		case has(e, "checked", "on", "selected"):
			verb := map[string]string{"checked": "Check ", "on": "Turn on ", "selected": "Choose "}[e.State[0]]
			complete(verb+e.Text, "Make sure that "+e.Text+" is "+e.State[0])
			if e.State[0] != "selected" {
				say(click, "A tap turns "+e.Text+" off.", "Turn off "+e.Text, "Remove the mark of "+e.Text)
			}
		case has(e, "unchecked", "off"):
			verb := map[string]string{"unchecked": "Check ", "off": "Turn on "}[e.State[0]]
			say(click, "A tap marks "+e.Text+".", verb+e.Text, "Select "+e.Text, "Mark "+e.Text)
		default:
			say(click, "The goal names "+e.Text+".", "Tap "+e.Text, "Press the "+e.Text+" "+e.Role, "Open "+e.Text, "Tap the "+e.Role+" "+e.Text)
		}
	}
	if rng.IntN(4) == 0 {
		say(domain.Action{Type: domain.ActionBack}, "This screen is to be left.", "Go back", "Leave this screen", "Return to the screen before")
	}
	out = pick(rng, out, max(n-2, 1))
	return append(out, pick(rng, done, min(2, n-len(out)))...), true, nil
}

// named are the shown elements with a text that no other shown one has: only they can be asked for by name.
func named(o domain.Observation) []domain.Element {
	times := map[string]int{}
	for _, e := range o.Elements {
		if e.Shown() {
			times[strings.ToLower(e.Text)]++
		}
	}
	var out []domain.Element
	for _, e := range o.Elements {
		if e.Shown() && strings.TrimSpace(e.Text) != "" && times[strings.ToLower(e.Text)] == 1 && !has(e, "disabled") {
			out = append(out, e)
		}
	}
	return out
}

// has tells whether an element's first state is one of some.
func has(e domain.Element, states ...string) bool {
	return len(e.State) > 0 && slices.Contains(states, e.State[0])
}

// fresh is the text of the first named element that the screen after has and the one before has not: headings first.
func fresh(before, after domain.Observation) string {
	old := map[string]bool{}
	for _, e := range before.Elements {
		old[e.Text] = true
	}
	var found []domain.Element
	for _, e := range named(after) {
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

// words are one to three words to type: of the screen, so that goals name words which also stand elsewhere, or made up.
func words(rng *rand.Rand, els []domain.Element) string {
	const syllables = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu"
	all := strings.Fields(syllables)
	var out []string
	for range 1 + rng.IntN(3) {
		if e := els[rng.IntN(len(els))]; rng.IntN(3) == 0 && len(strings.Fields(e.Text)) == 1 {
			out = append(out, e.Text)
			continue
		}
		w := ""
		for range 2 + rng.IntN(2) {
			w += all[rng.IntN(len(all))]
		}
		out = append(out, w)
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
