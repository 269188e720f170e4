//go:build integration

// Package tokens_test shows with real tokenizers that no text of a page, a person or a model becomes a control token.
package tokens_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/baselines"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/test/kit/injection"
	"github.com/collabui/collabui/trainer/rows"
)

// controlTokens returns the control tokens in texts by model.
func controlTokens(t *testing.T, texts []string) map[string][][]int {
	t.Helper()
	var got map[string][][]int
	if runTokens(t, texts, &got); len(got) != 2 {
		t.Fatalf("tokens.py printed %d models, want 2", len(got))
	}

	return got
}

// wantNone checks that no text has a control token.
func wantNone(t *testing.T, texts []string) {
	t.Helper()
	for model, found := range controlTokens(t, texts) {
		for i, ids := range found {
			if len(ids) > 0 {
				t.Errorf("%s finds the control tokens %v in %q, want none", model, ids, texts[i])
			}
		}
	}
}

func TestBrokenTextsHaveNoControlTokens(t *testing.T) {
	var broken []string
	for _, text := range injection.Corpus() {
		broken = append(broken, domain.BreakTokens(text))
	}
	wantNone(t, broken)

	for model, found := range controlTokens(t, []string{strings.Join(injection.Corpus(), "\n")}) {
		if len(found[0]) < 4 {
			t.Errorf("%s finds %v in the corpus as it is, want several control tokens", model, found[0])
		}
	}
}

// roles are what asks models, each with hostile text wherever a page, a person or another model can write.
var roles = map[string]func(ctx context.Context, m chat.Model, p *prompts.Prompt, text string) error{
	prompts.Agent: func(ctx context.Context, m chat.Model, _ *prompts.Prompt, text string) error {
		template, err := rules.Template(spec.Default())
		if err != nil {
			return err
		}
		view := agents.View{Goal: text, History: []string{text}, Observation: screen(text)}
		user, err := template.User(view, text, []agents.Message{{Agent: 1, Text: text}})
		if err != nil {
			return err
		}
		_, err = m.Complete(ctx, chat.Request{System: template.System(), User: user})

		return err
	},
	prompts.Critic: func(ctx context.Context, m chat.Model, p *prompts.Prompt, text string) error {
		_, _, err := credit.ModelCritic{Chat: m, Prompt: p, Forms: forms}.Label(ctx, step(text), 1)

		return err
	},
	prompts.Adversary: func(ctx context.Context, m chat.Model, p *prompts.Prompt, text string) error {
		s := step(text)
		_, _, err := credit.ModelAdversary{Chat: m, Prompt: p, Forms: forms}.Propose(ctx, s, s.Decision.Cells[0], 3, 1)

		return err
	},
	prompts.Summariser: func(ctx context.Context, m chat.Model, p *prompts.Prompt, text string) error {
		h := agents.ExecutedStep{
			Step: 1, Goal: text, Line: text, Before: screen(text), After: screen(text), Invalid: text,
		}
		_, err := agents.ModelSummary(ctx, m, p, h, 1)

		return err
	},
	prompts.Questions: func(ctx context.Context, m chat.Model, p *prompts.Prompt, text string) error {
		_, _, err := synth.Model{Chat: m, Prompt: p, Forms: forms}.Questions(ctx, shown(text), 3, 1)

		return err
	},
	prompts.Instructions: func(ctx context.Context, m chat.Model, p *prompts.Prompt, text string) error {
		_, _, err := synth.Model{Chat: m, Prompt: p, Forms: forms}.Instructions(ctx, shown(text), 3, 1)

		return err
	},
}

var forms = prompts.FormsOf(string(domain.FamilyMobile))

// screen is a screen that has the text wherever a page can write.
func screen(text string) domain.Observation {
	return domain.Observation{Elements: []domain.Element{
		{Index: 0, Role: "button", Text: text, Visible: true},
		{Index: 1, Role: "field", Text: "f", Desc: text, Value: text, Editable: true, Visible: true},
		{Index: 2, Role: "r " + text, Text: "f", State: []string{text, "on"}, Visible: true},
	}}
}

// step is a step whose cells repeat the text in their reason and type it.
func step(text string) domain.Step {
	s := domain.Step{Number: 1, Goal: text, History: []string{text}, Observation: screen(text)}
	for i := range 2 {
		a := domain.Action{Type: domain.ActionInputText, Text: text}.At(i)
		said := "Reason: " + text + "\nAction: " + a.JSON()
		s.Decision.Cells = append(s.Decision.Cells, agents.NewCell(i, 0, said, "", s.Observation))
	}

	return s
}

// shown is a screen of stage 1 on which the text was typed.
func shown(text string) synth.Screen {
	s := step(text)
	after := screen(text)

	return synth.Screen{Step: 1, Observation: s.Observation, Action: s.Decision.Cells[0].Action, After: &after}
}

// TestNoPromptHasAControlTokenOfAPage sends the prompts of all roles and of all single agents with every injection, and
// asks real tokenizers about what arrives at the server.
func TestNoPromptHasAControlTokenOfAPage(t *testing.T) {
	var arrived []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Messages []struct{ Content string } }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		for _, m := range q.Messages {
			arrived = append(arrived, m.Content)
		}
		w.WriteHeader(http.StatusBadRequest)
	}))
	t.Cleanup(server.Close)
	model, err := llm.New(llm.Config{BaseURL: server.URL + "/v1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}

	for _, role := range prompts.Roles {
		ask := roles[role]
		p, err := prompts.BuiltIn(role)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range injection.Corpus() {
			before := len(arrived)
			if err := ask(t.Context(), model, p, text); len(arrived) == before {
				t.Fatalf("%s with %q: %v and no request, want one", role, text, err)
			}
		}
	}
	for _, style := range prompts.Styles {
		p, err := prompts.BuiltIn(style)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range injection.Corpus() {
			a := &baselines.Agent{Style: style, Prompt: p, Family: domain.FamilyMobile, Model: model}
			before := len(arrived)
			view := agents.View{Goal: text, History: []string{text}, Observation: screen(text)}
			if _, err := a.Decide(t.Context(), 1, view, 1); err == nil || len(arrived) == before {
				t.Fatalf("%s with %q: %v and no request, want one", style, text, err)
			}
		}
	}
	t.Logf("%d messages", len(arrived))
	wantNone(t, arrived)
}

// TestNoRowHasAControlTokenOfAPage asks real tokenizers about the rows of LLaMA-Factory and TRL.
func TestNoRowHasAControlTokenOfAPage(t *testing.T) {
	set := rows.Set{Name: "s"}
	for _, text := range injection.Corpus() {
		set.Pairs = append(set.Pairs, domain.Example{Prompt: text, Chosen: text, Rejected: text})
	}
	files, err := rows.Export(set)
	if err != nil {
		t.Fatal(err)
	}

	var texts []string
	for name, raw := range files {
		if name == rows.InfoFile {
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		for {
			var row any
			if err := dec.Decode(&row); err != nil {
				break
			}
			texts = append(texts, stringsOf(row)...)
		}
	}
	t.Logf("%d texts", len(texts))
	wantNone(t, texts)
}

// stringsOf returns all texts in a value of JSON.
func stringsOf(v any) (out []string) {
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, x := range v {
			out = append(out, stringsOf(x)...)
		}
	case map[string]any:
		for _, x := range v {
			out = append(out, stringsOf(x)...)
		}
	}

	return out
}
