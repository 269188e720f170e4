package agents

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/collabui/collabui/domain"
)

func TestAShortenedAnswerKeepsItsAction(t *testing.T) {
	long := strings.Repeat("ä word ", 300)
	said := "Reason: r\nAction: "
	typed := domain.Action{Type: domain.ActionInputText, Text: "short"}.At(7).JSON()
	essay := domain.Action{Type: domain.ActionInputText, Text: `"` + long + "<b>"}.At(7).JSON()
	finish := domain.Action{Family: domain.FamilyWeb, Type: domain.ActionFinish, Answer: long}.JSON()
	for name, c := range map[string]struct{ text, has, ends string }{
		"a short answer is folded only": {said + typed, "Reason: r ", "Action: " + typed},
		"a long reason": {
			"Reason: " + long + "\nAction: " + typed, "Reason: ä word", "… Action: " + typed,
		},
		"a long afterthought": {said + typed + long, "Reason: r Action: ", typed},
		"a long text to type": {
			said + essay, `Action: {"action_type":"input_text","index":7,`, `…"}`,
		},
		"a long answer of the web":    {said + finish, `Action: {"action":"finish"`, `…"}`},
		"the JSON of an action alone": {essay, `{"action_type":"input_text","index":7,`, `…"}`},
		"no action":                   {long, "ä word", "…"},
		"an object that is no action": {`Action: {"x":"` + long + `"}`, `Action: {"x":"`, "…"},
	} {
		t.Run(name, func(t *testing.T) {
			const limit = 200
			got := ShortenAnswer(c.text, limit)
			if !strings.Contains(got, c.has) || !strings.HasSuffix(got, c.ends) {
				t.Errorf("ShortenAnswer() = %q, want %q in it and %q at its end", got, c.has, c.ends)
			}
			if n := utf8.RuneCountInString(got); n > limit+1 || strings.Contains(got, "\n") {
				t.Errorf("ShortenAnswer() = %q of %d characters, want one line of at most %d", got, n, limit+1)
			}

			want, err := ParseAnswer(c.text)
			if err != nil {
				return
			}
			a, err := ParseAnswer(got)
			if err != nil || a.Type != want.Type || (a.Index == nil) != (want.Index == nil) {
				t.Errorf("ParseAnswer(%q) = %+v, %v; want %s of the same element", got, a, err, want.Type)
			}
		})
	}
}

func TestLongAnswersReachPromptsWithTheirActions(t *testing.T) {
	_, action, _ := strings.Cut(click(7), "\n")
	long := "Reason: " + strings.Repeat("because ", 200) + "\n" + action
	got := prompt(t, View{Goal: "g"}, long, []Message{{Agent: 1, Text: long}})
	if n := strings.Count(got, "… "+action+"\n"); n != 2 {
		t.Errorf("%d messages end with their action, want 2 in\n%s", n, got)
	}
}
