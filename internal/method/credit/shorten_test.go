package credit

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/prompts"
)

// TestGradedTextsKeepTheirActions shows the critic and the adversary answers that are longer than their prompts allow.
func TestGradedTextsKeepTheirActions(t *testing.T) {
	_, action, _ := strings.Cut(click(3), "\n")
	typed := domain.Action{Type: domain.ActionInputText, Text: strings.Repeat("word ", 700)}.At(3)
	s := domain.Step{Number: 1, Goal: "g"}
	for i, text := range []string{"Reason: " + strings.Repeat("so ", 900) + "\n" + action, "Action: " + typed.JSON()} {
		s.Decision.Cells = append(s.Decision.Cells, agents.NewCell(i, 0, text, "x", s.Observation))
	}

	m := &scriptedModel{texts: []string{"no"}}
	if _, _, err := (ModelCritic{Chat: m, Prompt: builtIn(t, prompts.Critic)}).Label(t.Context(), s, 1); err != nil {
		t.Fatal(err)
	}
	adversary := ModelAdversary{Chat: m, Prompt: builtIn(t, prompts.Adversary)}
	if _, _, err := adversary.Propose(t.Context(), s, s.Decision.Cells[1], 1, 1); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"… " + action + "\n", `…"}` + "\n"} {
		if !strings.Contains(m.asked[0].User, want) {
			t.Errorf("the critic reads\n%s\nwant %q in it", m.asked[0].User, want)
		}
	}
	if last := m.asked[len(m.asked)-1].User; !strings.Contains(last, `…"}`+"\n") {
		t.Errorf("the adversary reads\n%s\nwant a shortened action in valid JSON", last)
	}
}
