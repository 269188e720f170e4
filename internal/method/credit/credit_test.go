package credit

import (
	"fmt"
	"slices"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/prompts"
)

func click(i int) string {
	return fmt.Sprintf("Reason: r\nAction: {\"action_type\":\"click\",\"index\":%d}", i)
}

// step makes a step of agents × rounds cells, each a click on an index, on a screen of ten buttons. right is the index
// of the right button. Every agent saw all buttons.
func step(number, right int, clicks [][]int) domain.Step {
	s := domain.Step{Number: number, Right: []domain.Action{domain.Action{Type: domain.ActionClick}.At(right)}}
	prompt := "Screen:\n"
	for i := range 10 {
		e := domain.Element{Index: i, Role: "button", Text: fmt.Sprint("b", i), Visible: true}
		s.Observation.Elements = append(s.Observation.Elements, e)
		prompt += agents.ElementLine(e) + "\n"
	}
	for a, row := range clicks {
		for j, i := range row {
			s.Decision.Cells = append(s.Decision.Cells, agents.NewCell(a, j, click(i), prompt, s.Observation))
		}
		s.Decision.Seen = append(s.Decision.Seen, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	}
	s.Decision.Executed = *s.Decision.Cells[0].Action

	return s
}

// builtIn returns the built-in prompt of a role.
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

func TestLabelsOfCriticsThatAreNotModels(t *testing.T) {
	s := step(1, 3, [][]int{{3, 1}, {2, 3}})
	unknown := s
	unknown.Right = nil
	for name, c := range map[string]struct {
		got  domain.Credit
		want []domain.Label
	}{
		"oracle":                      {Oracle(s), []domain.Label{1, 0, 0, 1}},
		"oracle, nothing known right": {Oracle(unknown), []domain.Label{-1, -1, -1, -1}},
		"outcome of a success":        {Outcome(s, true), []domain.Label{1, -1, -1, 1}},
		"outcome of a failure":        {Outcome(s, false), []domain.Label{0, -1, -1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			if !slices.Equal(c.got.Labels, c.want) {
				t.Errorf("labels %v, want %v", c.got.Labels, c.want)
			}
		})
	}
}

func TestAnAdvantageLabelsWhatWasExecuted(t *testing.T) {
	s := step(1, 3, [][]int{{3, 1}, {2, 3}})
	for advantage, want := range map[float64]domain.Label{
		0.5: domain.Positive, 0.2: domain.Uncertain, 0: domain.Uncertain, -0.1: domain.Uncertain, -0.3: domain.Negative,
	} {
		for i, l := range Advantage(s, advantage, 0.2).Labels {
			executed := s.Decision.Cells[i].Canonical == s.Decision.Executed.Canonical(s.Observation)
			if executed && l != want || !executed && l != domain.Uncertain {
				t.Errorf("advantage %v labels cell %d, executed: %v, with %v; want %v where it was executed",
					advantage, i, executed, l, want)
			}
		}
	}
}

func TestASystematicErrorIsAboutOneTypeOfAction(t *testing.T) {
	s := step(1, 3, [][]int{{3, 1}, {2, 3}})
	truth := Oracle(s).Labels
	for kind, wrong := range map[string]bool{domain.ActionClick: true, domain.ActionInputText: false, "": false} {
		got := slices.Clone(truth)
		Flips{Type: kind}.Apply(1, s.Decision.Cells, got)
		for i := range got {
			if (got[i] != truth[i]) != wrong {
				t.Errorf("always wrong on %q: label %d of a click is %v, the truth is %v; want it flipped: %v",
					kind, i, got[i], truth[i], wrong)
			}
		}
	}
}

func TestFlipsErrAsOftenAsToldAndKeepEqualActionsEqual(t *testing.T) {
	const share = 0.3
	flipped, cells := 0, 0
	for seed := range uint64(400) {
		s := step(1, 3, [][]int{{3, 1}, {2, 3}})
		s.Decision.Cells = append(s.Decision.Cells, agents.NewCell(2, 0, "nonsense", "", s.Observation))
		truth := append(Oracle(s).Labels[:4:4], domain.Uncertain)
		apply := func(share float64) []domain.Label {
			labels := slices.Clone(truth)
			Flips{Share: share, Seed: seed}.Apply(1, s.Decision.Cells, labels)

			return labels
		}

		if got := apply(0); !slices.Equal(got, truth) {
			t.Fatalf("seed %d: share 0 makes %v, want %v", seed, got, truth)
		}
		got := apply(share)
		if again := apply(share); !slices.Equal(again, got) {
			t.Fatalf("seed %d: applied again makes %v, want %v", seed, again, got)
		}
		if got[0] != got[3] || got[4] != domain.Uncertain {
			t.Fatalf("seed %d: labels %v, want the first and the fourth equal and the last ∅", seed, got)
		}
		for i := range 3 { // the three different actions
			cells++
			if got[i] != truth[i] {
				flipped++
			}
		}
	}
	if rate := float64(flipped) / float64(cells); rate < 0.26 || rate > 0.34 {
		t.Errorf("%.3f of the labels were flipped, want about %v", rate, share)
	}
}
