package runs

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
)

// decided is a decision of two agents in which the second was not asked.
func decided() domain.Decision {
	used := domain.Usage{Prompt: 100, Cached: 60, Answer: 9}
	return domain.Decision{
		Cells: []domain.Cell{
			{Text: "Action: x", Canonical: "x", Usage: used, Prompt: strings.Repeat("a long prompt ", 500)},
			{},
		},
		AllRound: domain.Vote{Canonical: "x", Votes: 1, Rule: "majority"},
		LastOnly: domain.Vote{Canonical: "x", Votes: 1, Rule: "scan"},
	}
}

func TestAStepOfAnEvaluationKeepsMatrixVotesAndUsageButNoPrompt(t *testing.T) {
	got := NewEvalStep("goal", domain.Observation{Width: 1}, decided())
	want := EvalStep{
		Screen: got.Screen,
		Cells: []EvalCell{
			{Text: "Action: x", Canonical: "x", Usage: domain.Usage{Prompt: 100, Cached: 60, Answer: 9}},
		},
		AllRounds: domain.Vote{Canonical: "x", Votes: 1, Rule: "majority"},
		LastRound: domain.Vote{Canonical: "x", Votes: 1, Rule: "scan"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("NewEvalStep = %+v, want %+v", got, want)
	}
	if raw, _ := json.Marshal(got); len(raw) > 500 {
		t.Errorf("the record has %d bytes, want at most 500: %s", len(raw), raw)
	}

	for name, other := range map[string]EvalStep{
		"goal":        NewEvalStep("another", domain.Observation{Width: 1}, decided()),
		"observation": NewEvalStep("goal", domain.Observation{Width: 2}, decided()),
	} {
		if other.Screen == got.Screen {
			t.Errorf("another %s has the digest %s, want another one", name, got.Screen)
		}
	}
}

func TestTheCostOfAnEpisodeIsThatOfItsCells(t *testing.T) {
	step := NewEvalStep("goal", domain.Observation{}, decided())
	got := EvalEpisode{Steps: []EvalStep{step, step, step}}.Cost()
	want := Cost{Calls: 3, Usage: domain.Usage{Prompt: 300, Cached: 180, Answer: 27}}
	if got != want {
		t.Errorf("Cost = %+v, want %+v", got, want)
	}

	if tokens, ok := got.PerSuccess(2); !ok || tokens != 163.5 {
		t.Errorf("PerSuccess(2) = %v, %v; want 163.5 tokens", tokens, ok)
	}
	for name, c := range map[string]struct {
		cost      Cost
		successes int
	}{"no success": {got, 0}, "an older record": {Cost{}, 2}} {
		if tokens, ok := c.cost.PerSuccess(c.successes); ok {
			t.Errorf("%s: PerSuccess = %v, want none", name, tokens)
		}
	}
}
