package agents

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/test/kit/injection"
)

// hostileView returns a view that contains the text wherever a page can write.
func hostileView(text string) View {
	return View{Goal: text, History: []string{text}, Observation: domain.Observation{Elements: []domain.Element{
		{Index: 0, Role: "button", Text: text, Visible: true},
		{Index: 1, Role: "field", Text: "f", Desc: text, Value: text, Editable: true, Visible: true},
		{Index: 2, Role: "r " + text, Text: "f", State: []string{text, "on"}, Visible: true},
		{ID: "i " + text, Role: "link", Visible: true},
	}}}
}

// skeleton keeps the first word of every line, which distinguishes sections from elements.
func skeleton(prompt string) string {
	var out []string
	for _, l := range strings.Split(prompt, "\n") {
		w, _, _ := strings.Cut(l, " ")
		out = append(out, w)
	}

	return strings.Join(out, "|")
}

func TestTheCorpusOfInjectionsIsLarge(t *testing.T) {
	if got := len(injection.Corpus()); got < 50 {
		t.Errorf("the corpus has %d injections, want at least 50", got)
	}
}

func TestInjectionsChangeNoPrompt(t *testing.T) {
	for _, x := range injection.Corpus() {
		first, _, _ := strings.Cut(strings.Join(strings.Fields(x), " "), " ")
		if len([]rune(first)) >= 100 {
			continue // the bound on a line would cut its first word
		}
		clean := View{Goal: "g", History: []string{first}, Observation: hostileView("t").Observation}
		got := skeleton(prompt(t, hostileView(x), x, []Message{{Agent: 1, Text: x}}))
		want := skeleton(prompt(t, clean, "o", []Message{{Agent: 1, Text: "m"}}))
		if got != want {
			t.Errorf("%q changes the prompt's lines: got\n%s\nwant\n%s", x, got, want)
		}
	}
}

// TestInjectionsChangeNoParse lets agents repeat every injection in their reason and type it. An answer that repeats a
// page in its reason may fail to parse, but it must not parse as another action.
func TestInjectionsChangeNoParse(t *testing.T) {
	for _, x := range injection.Corpus() {
		_, action, _ := strings.Cut(click(3), "\n")
		a, err := ParseAnswer("Reason: it says " + strings.Join(strings.Fields(x), " ") + "\n" + action)
		if err == nil && (a.Type != domain.ActionClick || *a.Index != 3) {
			t.Errorf("%q in the reason: ParseAnswer() = %s, want click 3", x, a.JSON())
		}

		a, err = ParseAnswer("Reason: it says " + strings.Join(strings.Fields(x), " ") +
			"\n**Action**： {'action_type': 'tap', 'index': '3',}")
		if err == nil && (a.Type != domain.ActionClick || *a.Index != 3) {
			t.Errorf("%q in the reason of a repaired answer: ParseAnswer() = %s, want click 3", x, a.JSON())
		}

		typed := domain.Action{Type: domain.ActionInputText, Text: x}.At(1)
		a, err = ParseAnswer("Reason: r\nAction: " + typed.JSON())
		if err != nil {
			t.Errorf("%q as typed text: ParseAnswer() fails with %v, want no error", x, err)
		} else if a.JSON() != typed.JSON() {
			t.Errorf("%q as typed text: ParseAnswer() = %s, want %s", x, a.JSON(), typed.JSON())
		}

		a, err = ParseAnswer("Reason: r\nAction: " + strings.Replace(typed.JSON(), `"index":1`, `'index': '1'`, 1))
		if err != nil || a.JSON() != typed.JSON() {
			t.Errorf("%q as typed text of a repaired answer: %s, %v, want %s", x, a.JSON(), err, typed.JSON())
		}
	}
}
