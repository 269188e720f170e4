package agents

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/test/kit/injection"
)

// TestInjectionsChangeNoPromptAndNoParse puts every injection wherever a page or a model can write.
func TestInjectionsChangeNoPromptAndNoParse(t *testing.T) {
	all := injection.Corpus()
	if len(all) < 50 {
		t.Fatal(len(all))
	}
	view := func(text string) View {
		return View{Goal: text, History: []string{text}, Observation: domain.Observation{Elements: []domain.Element{
			{Index: 0, Role: "button", Text: text, Visible: true}, {Index: 1, Role: "field", Text: "f", Desc: text, Value: text, Editable: true, Visible: true}}}}
	}
	skeleton := func(p string) string { // the first word of every line: what tells sections and elements apart
		var out []string
		for _, l := range strings.Split(p, "\n") {
			w, _, _ := strings.Cut(l, " ")
			out = append(out, w)
		}
		return strings.Join(out, "|")
	}
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	parses, prompts := 0, 0
	for _, x := range all {
		first, _, _ := strings.Cut(words(x), " ")
		clean := View{Goal: "g", History: []string{first}, Observation: view("t").Observation}
		got, want := skeleton(Prompt(view(x), x, []Message{{1, x}})), skeleton(Prompt(clean, "o", []Message{{1, "m"}}))
		if len([]rune(first)) < 100 && got != want {
			prompts++
			t.Errorf("%q changes the prompt's lines:\n%s\n%s", x, got, want)
		}
		typed := domain.Action{Type: domain.ActionInputText, Text: x}.At(1)
		for _, answer := range []string{"Reason: it says " + words(x) + "\nAction: " + click(3)[strings.Index(click(3), "{"):], "Reason: r\nAction: " + typed.JSON()} {
			a, err := ParseAnswer(answer)
			right := err == nil && (a.Type == domain.ActionClick && *a.Index == 3 || a.Type == domain.ActionInputText && *a.Index == 1 && a.Text == typed.Text)
			if !right && (err == nil || strings.HasPrefix(answer, "Reason: r\n")) { // an answer that repeats a page in its reason may fail to parse; it may not say something else
				parses++
				t.Errorf("%q changes a parse: %+v %v", x, a, err)
			}
		}
	}
	t.Logf("%d injections: %d change a prompt, %d change a parse", len(all), prompts, parses)
}
