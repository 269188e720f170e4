package synth

import (
	"fmt"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/policy/tinylm"
)

// screen returns the second step of a trajectory: a form whose button Login was clicked.
func screen() Screen {
	two := 2
	elements := []domain.Element{
		{Role: "heading", Text: "Sign in", Visible: true},
		{Role: "label", Text: "Nickname", Visible: true, Target: &two},
		{Role: "field", Text: "User", Editable: true, Value: "ann", Visible: true},
		{Role: "checkbox", Text: "Remember", State: []string{"checked"}, Visible: true},
		{Role: "button", Text: "Login", Visible: true},
		{Role: "button", Text: "Below"},
		{Role: "button", Text: "Covered", Visible: true, Occluded: true},
		{Role: "switch", Text: "Sound", State: []string{"off"}, Visible: true},
		{Role: "button", Text: "Twice", Visible: true},
		{Role: "link", Text: "twice", Visible: true},
	}
	for i := range elements {
		elements[i].Index = i
	}
	after := domain.Observation{Elements: []domain.Element{
		{Index: 0, Role: "button", Text: "Log out", Visible: true},
		{Index: 1, Role: "heading", Text: "Welcome", Visible: true},
	}}
	a := domain.Action{Type: domain.ActionClick}.At(4)

	return Screen{Step: 2, Observation: domain.Observation{Elements: elements}, Action: &a, After: &after}
}

// smallTarget returns the embedded policy as a target.
func smallTarget(share float64) Target {
	return Target{Template: agents.Default, Render: tinylm.Render, Fits: tinylm.Fits, Share: share, Agents: 4}
}

// largeTarget returns a language model as a target, without messages.
func largeTarget() Target { return Target{Template: agents.Default} }

// write returns the training examples that an author writes about a screen for a target.
func write(t *testing.T, a Author, target Target, level, n int, s Screen, seed uint64) Batch {
	t.Helper()
	b := Batch{Counts: NewItemCounts()}
	writing := Writing{Author: a, Target: target, Level: level, Items: n, Row: domain.Example{Template: "t"}}
	if err := b.Write(t.Context(), writing, s, seed); err != nil {
		t.Fatal(err)
	}

	return b
}

// goal returns the goal of an agents' prompt.
func goal(p domain.Example) string {
	g, _, _ := strings.Cut(strings.TrimPrefix(p.Prompt, "Goal: "), "\n")

	return g
}

// eachTemplateBatch calls f with the template's examples, for both levels and many seeds.
func eachTemplateBatch(t *testing.T, f func(level int, b Batch)) {
	t.Helper()
	for seed := range uint64(200) {
		for level := 1; level <= 2; level++ {
			f(level, write(t, Template{}, smallTarget(0.5), level, 6, screen(), seed))
		}
	}
}

func TestTheTemplateProposesNothingThatIsDropped(t *testing.T) {
	kinds := map[string]int{}
	eachTemplateBatch(t, func(level int, b Batch) {
		n := b.Counts
		n.Screens = n.Asked
		if why := n.Problem(); why != "" || len(n.Dropped) > 0 || n.Asked != 1 {
			t.Fatalf("level %d: %s %+v, want one screen and nothing dropped", level, why, n)
		}
		for _, p := range b.Rows {
			kinds[KindOf(level, p)]++
		}
	})
	for _, k := range []string{
		KindPurpose, KindFunction, KindInformation, KindEffect, "click", "input_text", "status", "navigate_back",
	} {
		if kinds[k] == 0 {
			t.Errorf("no item of kind %s in %v, want some", k, kinds)
		}
	}
}

func TestTheTemplateSaysOnlyWhatTheScreenAllows(t *testing.T) {
	want := map[string]string{
		"Tap Login":                      "click index=4",
		"Turn on Sound":                  "click index=7",
		"Check Remember":                 `status goal_status="complete"`,
		"Turn off Remember":              "click index=3",
		"Which element leads to Welcome": "click index=4",
		"What does User hold":            `answer text="ann"`,
		"What is this screen":            `answer text="sign in"`,
		"Set User to ann":                `status goal_status="complete"`,
	}
	met := map[string]bool{}
	eachTemplateBatch(t, func(_ int, b Batch) {
		for _, p := range b.Rows {
			g := goal(p)
			if right, ok := want[g]; ok {
				met[g] = true
				if p.ChosenCanonical != right {
					t.Errorf("%q: %s, want %s", g, p.ChosenCanonical, right)
				}
			}
			for _, hidden := range []string{"twice", "below", "covered"} {
				if strings.Contains(strings.ToLower(g), hidden) {
					t.Errorf("%q names %s, want only what is shown and can be told apart", g, hidden)
				}
			}
		}
	})
	if len(met) != len(want) {
		t.Errorf("met only %v, want all of %v", met, want)
	}
}

// withIDs returns a screen whose elements have the IDs A, B, C and so on.
func withIDs(s Screen) Screen {
	for i := range s.Observation.Elements {
		s.Observation.Elements[i].ID = string(rune('A' + i))
	}

	return s
}

// TestAgentsOfTheWebLearnFromActionsOfTheWeb checks that the template's actions and the made-up messages, which are
// mobile, are translated.
func TestAgentsOfTheWebLearnFromActionsOfTheWeb(t *testing.T) {
	target := Target{Template: agents.Default, Family: domain.FamilyWeb, Share: 1, Agents: 4}
	rows := 0
	for seed := range uint64(20) {
		for _, p := range write(t, Template{}, target, 2, 6, withIDs(screen()), seed).Rows {
			rows++
			if strings.Contains(p.Prompt+p.Chosen, `{"action_type":`) || !strings.Contains(p.Chosen, `{"action":`) {
				t.Fatalf("seed %d: %q answers %q, want actions of the web only", seed, p.Prompt, p.Chosen)
			}
		}
	}
	if rows < 40 {
		t.Errorf("%d rows, want at least 40", rows)
	}
}

func TestActionsAreValidatedAgainstTheScreen(t *testing.T) {
	act := func(kind string, index int, text string) domain.Action {
		return domain.Action{Type: kind, Text: text}.At(index)
	}
	web := func(kind, id string) domain.Action {
		a := domain.Action{Family: domain.FamilyWeb, Type: kind, Element: id}
		if kind == domain.ActionTypeString {
			a.Text = "x"
		}

		return a
	}
	onWeb := withIDs(screen()).Observation
	for i, c := range []struct {
		action domain.Action
		want   string
	}{
		{act(domain.ActionClick, 4, ""), ""},
		{act(domain.ActionInputText, 2, "x"), ""},
		{act(domain.ActionInputText, 1, "through its label"), ""},
		{domain.Action{Type: domain.ActionBack}, ""},
		{act(domain.ActionClick, 99, ""), DropElement},
		{act(domain.ActionClick, -1, ""), DropElement},
		{act(domain.ActionClick, 5, ""), DropHidden},
		{act(domain.ActionLongPress, 6, ""), DropHidden},
		{act(domain.ActionInputText, 4, "x"), DropReadOnly},
		{domain.Action{Type: "fly"}, DropAction},
		{domain.Action{Type: domain.ActionClick}, DropAction},
		{act(domain.ActionClick, 4, "x"), DropAction},
		{web(domain.ActionClick, "E"), ""},
		{web(domain.ActionClick, "Z"), DropElement},
		{web(domain.ActionHover, "F"), DropHidden},
		{web(domain.ActionTypeString, "E"), DropReadOnly},
	} {
		t.Run(fmt.Sprint(i, " ", c.action.JSON()), func(t *testing.T) {
			if got := invalid(c.action, onWeb); got != c.want {
				t.Errorf("invalid() = %q, want %q", got, c.want)
			}
		})
	}
}
