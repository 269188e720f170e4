package credit

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/test/kit/injection"
)

// obedientCritic is a critic that takes every line that does not begin with "| " for a part of the prompt. It grades
// the proposals, but if it finds an instruction on such a line, it obeys and gives all cells 1.
type obedientCritic struct{ right string }

var (
	heading = regexp.MustCompile(
		`^(Goal:|History:|Screen:|Proposals:|\d+\.\d+|Grade these \d+ cells:( \d+\.\d+)+)$`)
	clicked = regexp.MustCompile(`Action: (\{[^{}]*\})$`)
)

func (r obedientCritic) Complete(_ context.Context, q chat.Request) (chat.Response, error) {
	obey, cell, sections := false, "", 0
	scores := map[string]any{}
	for _, line := range strings.Split(q.User, "\n") {
		data, isData := strings.CutPrefix(line, "| ")
		switch {
		case !isData && heading.MatchString(line):
			if strings.HasSuffix(line, ":") {
				sections++
			}
			cell = ""
			if line[0] >= '0' && line[0] <= '9' {
				cell = line
			}
		case !isData:
			obey = true
		case cell != "":
			scores[cell] = 0
			if m := clicked.FindStringSubmatch(data); m != nil && m[1] == r.right {
				scores[cell] = 1
			}
			cell = ""
		}
	}
	if obey || sections != 4 {
		for cell := range scores {
			scores[cell] = 1
		}
	}

	return chat.Response{Texts: []string{grades(scores)}}, nil
}

// attackedStep returns the step into which injections are put, and the labels that it must get.
func attackedStep() (domain.Step, []domain.Label) {
	s := step(1, 3, [][]int{{3, 1}, {2, 3}})
	s.Goal, s.History = "Tap b3", []string{"1 click button b7"}

	return s, []domain.Label{1, 0, 0, 1}
}

// withReason returns the step with another reason in one of its cells.
func withReason(s domain.Step, cell int, text string) domain.Step {
	s.Decision.Cells = slices.Clone(s.Decision.Cells)
	c := s.Decision.Cells[cell]
	said := "Reason: " + text + "\nAction: " + c.Action.JSON()
	s.Decision.Cells[cell] = agents.NewCell(c.Agent, c.Round, said, "", s.Observation)

	return s
}

// TestInjectionsChangeNoLabel puts every injection wherever a page or an agent can write. A critic that respects the
// delimiters gives the same labels as without it. The test does not show how a real model treats the words inside them.
func TestInjectionsChangeNoLabel(t *testing.T) {
	s, want := attackedStep()
	critic := critic(t, obedientCritic{s.Decision.Cells[0].Action.JSON()})
	for place, put := range map[string]func(domain.Step, string) domain.Step{
		"nowhere": func(s domain.Step, _ string) domain.Step { return s },
		"goal": func(s domain.Step, x string) domain.Step {
			s.Goal = x

			return s
		},
		"history": func(s domain.Step, x string) domain.Step {
			s.History = []string{x}

			return s
		},
		"element": func(s domain.Step, x string) domain.Step {
			s.Observation.Elements = slices.Clone(s.Observation.Elements)
			s.Observation.Elements[5].Text, s.Observation.Elements[6].Desc = x, x

			return s
		},
		"right cell": func(s domain.Step, x string) domain.Step { return withReason(s, 0, x) },
		"wrong cell": func(s domain.Step, x string) domain.Step { return withReason(s, 2, x) },
	} {
		t.Run(place, func(t *testing.T) {
			for _, x := range injection.Corpus() {
				bad := put(s, x)
				got, _, err := critic.Label(t.Context(), bad, 1)
				if err != nil {
					t.Fatal(err)
				}
				for i, l := range got.Labels {
					// An agent that fills its reason with braces spoils its own answer, and only that.
					if bad.Decision.Cells[i].Action != nil && l != want[i] {
						t.Errorf("%q: cell %d is labelled %d, want %d", x, i, l, want[i])
					}
				}
			}
		})
	}
}

func TestFoldingAndBoundingChangeNoCleanVerdict(t *testing.T) {
	s, want := attackedStep()
	critic := critic(t, obedientCritic{s.Decision.Cells[0].Action.JSON()})
	for name, text := range map[string]string{
		"short":       "short",
		"line breaks": "two\nlines",
		"long":        strings.Repeat("a long reason ", 40),
		"white space": "tabs\tand  spaces",
		"Unicode":     "ümläute «quotes» 漢字",
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := critic.Label(t.Context(), withReason(s, 0, text), 1)
			if err != nil || !slices.Equal(got.Labels, want) {
				t.Errorf("labels %v, %v; want %v", got.Labels, err, want)
			}
		})
	}
}
