package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
)

func TestAPromptOfALanguageModelHasAtMostItsTokens(t *testing.T) {
	s := spec.Default()
	s.Trainer.Name = "llamafactory"
	s.Prompt = agents.ModelLimits
	view := agents.View{Goal: "Open the budget"}
	for i := range 200 {
		view.History = append(view.History, fmt.Sprint(i, " wait"))
		view.Observation.Elements = append(view.Observation.Elements, domain.Element{
			Index: i, Role: "item", Text: strings.Repeat("text ", 20), Visible: true,
		})
	}
	render := func() (*agents.Template, string, domain.LeftOut) {
		template, err := rules.Template(s)
		if err != nil {
			t.Fatal(err)
		}
		template = rules.Bound(s, template, func(string) int { return 1 << 20 })
		user, left, err := template.Fit(view, "", nil)
		if err != nil {
			t.Fatal(err)
		}

		return template, user, left
	}

	if _, _, left := render(); left.History > 0 || len(left.Elements) > 0 || left.Older != 100 {
		t.Errorf("without a limit of tokens, the prompt lacks %+v, want only 100 older lines", left)
	}
	s.Prompt.Tokens = 3000
	template, user, left := render()
	tokens := agents.EstimateTokens(template.System() + user)
	if tokens > 3000 || tokens < 2800 || left.History != 99 || len(left.Elements) == 0 {
		t.Errorf("the prompt has %d tokens and lacks %s, want nearly 3000 without all but the newest line",
			tokens, left)
	}
}

func TestNotesAreOfferedOnlyIfAgentsWriteThem(t *testing.T) {
	s := spec.Default()
	s.Trainer.Name = "llamafactory"
	for _, notes := range []spec.NoteWriter{spec.NotesNone, spec.NotesPolicy, spec.NotesSummariser} {
		s.Summariser.Notes = notes
		config, err := rules.Decoding(s, []string{"a"}, domain.Topology{Agents: 1}, 1)
		if err != nil {
			t.Fatal(err)
		}
		want := notes == spec.NotesPolicy
		if got := strings.Contains(config.Template.System(), `"Note: ..."`); got != want || config.Notes != want {
			t.Errorf("notes: %s: offered %v, kept %v; want %v", notes, got, config.Notes, want)
		}
	}
}
