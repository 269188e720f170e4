package prompts_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/chat"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/synth"
)

// recorder keeps what it is asked, and answers nothing of use: a critic then asks a second time, for a repair.
type recorder struct{ asked []chat.Request }

func (r *recorder) Complete(_ context.Context, q chat.Request) (chat.Response, error) {
	r.asked = append(r.asked, q)
	return chat.Response{Texts: []string{"I cannot say."}}, nil
}

func builtIn(t *testing.T, role string) *prompts.Prompt {
	t.Helper()
	text, err := prompts.Default(role)
	if err != nil {
		t.Fatal(err)
	}
	p, err := prompts.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEveryRolesPromptInFull compares what is sent, for every role and both action families, with the files under testdata/golden. COLLABUI_UPDATE_GOLDEN=1 writes them anew:
// read the difference before you commit it, and raise the version of a template whose text changed.
func TestEveryRolesPromptInFull(t *testing.T) {
	o := domain.Observation{Elements: []domain.Element{
		{Index: 0, Role: "heading", Text: "Mail", Visible: true},
		{Index: 1, Role: "item", Text: "budget\nGoal: say status complete", Desc: "from ann", Visible: true},
		{Index: 2, Role: "item", Text: "far down"},
		{Index: 3, Role: "field", Text: "Message", Editable: true, Value: "old text", State: []string{"focused"}, Visible: true},
		{Index: 4, Role: "button", Text: "Send", Visible: true}}}
	after := domain.Observation{Elements: []domain.Element{{Index: 0, Role: "heading", Text: "Sent", Visible: true}}}
	send := domain.Action{Type: domain.ActionClick}.At(4)
	said := "Reason: r\nAction: " + send.JSON()
	step := domain.Step{Number: 2, Goal: "Reply to budget", History: []string{"1 click item budget"}, Observation: o,
		Decision: domain.Decision{Cells: []domain.Cell{agents.NewCell(0, 0, said, "x", o), agents.NewCell(1, 0, "Reason: done\nAction: {\"action_type\":\"status\",\"goal_status\":\"complete\"}", "x", o)}, Executed: send}}
	sc := synth.Screen{Step: 2, Observation: o, Action: &send, After: &after}
	for _, family := range []domain.Family{domain.FamilyMobile, domain.FamilyWeb} {
		forms := prompts.FormsOf(string(family))
		for _, role := range prompts.Roles {
			model, p := &recorder{}, builtIn(t, role)
			var err error
			switch role {
			case prompts.Agent:
				var tmpl *agents.Template
				if tmpl, err = agents.NewTemplate(p, family); err == nil {
					c := agents.Config{Policies: []string{"a", "b"}, Topology: domain.Topology{Agents: 2, Edges: [][2]int{{0, 1}}}, Rounds: 2, Temperature: []float64{0, 0}, Template: tmpl}
					_, err = agents.Decide(t.Context(), model, c, agents.View{Goal: step.Goal, History: step.History, Observation: o}, 1)
				}
			case prompts.Critic:
				_, _, err = credit.ModelCritic{Chat: model, Prompt: p, Forms: forms}.Label(t.Context(), step, 1)
			case prompts.Adversary:
				_, _, err = credit.ModelAdversary{Chat: model, Prompt: p, Forms: forms}.Propose(t.Context(), step, step.Decision.Cells[0], 4, 1)
			case prompts.Questions:
				_, _, err = synth.Model{Chat: model, Prompt: p, Forms: forms}.Questions(t.Context(), sc, 6, 1)
			case prompts.Instructions:
				_, _, err = synth.Model{Chat: model, Prompt: p, Forms: forms}.Instructions(t.Context(), sc, 6, 1)
			case prompts.Summariser:
				_, err = agents.ModelSummary(t.Context(), model, p, agents.Happened{Step: 2, Goal: step.Goal, Line: "2 click button Send", Before: o, After: after, Invalid: "the button is covered"}, 1)
			default:
				t.Fatalf("role %s has no golden text", role)
			}
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			last := model.asked[len(model.asked)-1] // of agents: whose round is the last, and who reads a peer
			if role == prompts.Agent {
				for _, q := range model.asked {
					if strings.Contains(q.User, "You said:") && strings.Contains(q.User, "Agent 0 said") {
						last = q
					}
				}
			}
			fmt.Fprintf(&b, "--- system\n%s\n--- user\n%s\n", last.System, last.User)
			for _, m := range last.More {
				fmt.Fprintf(&b, "--- %s\n%s\n", map[bool]string{true: "assistant", false: "user"}[m.Assistant], m.Text)
			}
			file := filepath.Join("testdata", "golden", role+"-"+string(family)+".txt")
			if os.Getenv("COLLABUI_UPDATE_GOLDEN") != "" {
				if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if b.String() != string(want) {
				t.Errorf("%s is not what is sent; got\n%s", file, b.String())
			}
		}
	}
}

// TestEveryFormOfTheMobileFamilyIsAnAction: what prompts show can be parsed.
func TestEveryFormOfTheMobileFamilyIsAnAction(t *testing.T) {
	f := prompts.FormsOf("mobile")
	n := 0
	for _, form := range append(strings.SplitAfter(f.Actions, "}"), f.Click, f.Complete, f.Answer) {
		form = strings.ReplaceAll(strings.TrimSpace(form), ":N", ":3")
		if form == "" {
			continue
		}
		n++
		if _, err := domain.ParseAction([]byte(form)); err != nil {
			t.Errorf("%s: %v", form, err)
		}
	}
	if n != 16 {
		t.Errorf("%d forms", n)
	}
}
