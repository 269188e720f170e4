package prompts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/prompts"
)

// types lists the action types of both families.
var types = []string{
	domain.ActionStatus, domain.ActionAnswer, domain.ActionClick, domain.ActionDoubleTap, domain.ActionLongPress,
	domain.ActionInputText, domain.ActionEnter, domain.ActionHome, domain.ActionBack, domain.ActionScroll,
	domain.ActionSwipe, domain.ActionOpenApp, domain.ActionWait, domain.ActionNone, domain.ActionHover,
	domain.ActionSelect, domain.ActionTypeString, domain.ActionScrollPage, domain.ActionGo, domain.ActionJumpTo,
	domain.ActionSwitchTab, domain.ActionUserInput, domain.ActionFinish,
}

// legal returns the JSON of every legal action of a family, with a placeholder for every free value. It tries every
// type with every set of fields.
func legal(f domain.Family) []string {
	index := 3
	set := []func(*domain.Action){
		func(a *domain.Action) { a.Index = &index },
		func(a *domain.Action) { a.Element = "ID" },
		func(a *domain.Action) { a.Text = "..." },
		func(a *domain.Action) { a.AppName = "..." },
		func(a *domain.Action) { a.Option = "..." },
		func(a *domain.Action) { a.PressEnter = true },
		func(a *domain.Action) { a.URL = "..." },
		func(a *domain.Action) { a.NewTab = true },
		func(a *domain.Action) { a.Tab = index },
		func(a *domain.Action) { a.Message = "..." },
		func(a *domain.Action) { a.Answer = "..." },
	}

	var out []string
	for _, kind := range types {
		for _, direction := range []string{"", "up", "down", "left", "right", "forward", "backward"} {
			for _, status := range []string{"", domain.StatusComplete, domain.StatusInfeasible} {
				for fields := range 1 << len(set) {
					a := domain.Action{Family: f, Type: kind, Direction: direction, GoalStatus: status}
					for i, field := range set {
						if fields>>i&1 == 1 {
							field(&a)
						}
					}
					if a.Validate() == nil {
						out = append(out, a.JSON())
					}
				}
			}
		}
	}

	return out
}

// TestPromptsListAllLegalActions compares the forms in prompts with what domain.Action.Validate accepts.
func TestPromptsListAllLegalActions(t *testing.T) {
	for _, family := range []domain.Family{domain.FamilyMobile, domain.FamilyWeb} {
		t.Run(string(family), func(t *testing.T) {
			f := prompts.FormsOf(string(family))
			var got []string
			for _, form := range strings.SplitAfter(f.Actions, "}") {
				if form = strings.ReplaceAll(strings.TrimSpace(form), ":N", ":3"); form == "" {
					continue
				}
				a, err := domain.ParseAction([]byte(form))
				if err != nil {
					t.Errorf("ParseAction(%s) = %v, want no error", form, err)
				}
				got = append(got, a.JSON())
			}
			want := legal(family)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("prompts list\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}

			for _, form := range []string{f.Click, f.Complete, f.Answer} {
				if a, err := domain.ParseAction([]byte(form)); err != nil || !a.InFamily(family) {
					t.Errorf("ParseAction(%s) = %+v, %v; want an action of the family", form, a, err)
				}
			}
		})
	}
}

func TestAgentsAndCriticReadTheSameActionsAndGuidelines(t *testing.T) {
	for _, role := range []string{prompts.Agent, prompts.Critic} {
		for _, family := range []string{"mobile", "web"} {
			t.Run(role+", "+family, func(t *testing.T) {
				f := prompts.FormsOf(family)
				got, err := builtIn(t, role).Render("system", f)
				if err != nil {
					t.Fatal(err)
				}
				for _, want := range []string{f.Actions, f.Guidelines} {
					if want == "" || !strings.Contains(got, want) {
						t.Errorf("got\n%s\nwant %q in it", got, want)
					}
				}
			})
		}
	}
}
