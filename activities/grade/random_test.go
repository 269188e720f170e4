package grade

import (
	"fmt"
	"testing"

	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/records/runs"
)

// TestTheEmbeddedPolicyCanWriteRandomActions checks that random actions have the wording of the policy, so that their
// probability under it is above 0.
func TestTheEmbeddedPolicyCanWriteRandomActions(t *testing.T) {
	s := spec.Default()
	s.Adversary.Model = spec.RoleRandom
	feedback := Feedback{Wording: play.Wording{Render: tinylm.Render, Fits: tinylm.Fits, Over: tinylm.Over}}
	target, err := feedback.Wording.Target(s)
	if err != nil {
		t.Fatal(err)
	}
	propose, err := feedback.Proposer(s, []string{"policy"})
	if err != nil {
		t.Fatal(err)
	}

	step := domain.Step{Goal: "Send 'good morning' to Ann", Decision: domain.Decision{Seen: [][]int{{0, 1, 2}}}}
	for i, text := range []string{"Ann Miller", "Message", "Send"} {
		step.Observation.Elements = append(step.Observation.Elements, domain.Element{
			Index: i, Role: "button", Text: text, Visible: true, Editable: i == 1,
		})
	}
	view := agents.View{Goal: step.Goal, Observation: step.Observation}
	prompt, err := target.Template.User(view, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	right := target.Word(domain.Action{Type: domain.ActionClick}.At(2), step.Observation)
	cell := agents.NewCell(0, 0, right, prompt, step.Observation)
	kinds := map[string]bool{}
	for seed := range uint64(100) {
		call := runs.Call{Seed: seed}
		if err := propose(t.Context(), step, cell, 4, &call); err != nil {
			t.Fatal(err)
		}
		if len(call.Texts) != 4 || len(call.LogProbs) != 0 || call.Model != "random" {
			t.Fatalf("the call is %+v, want 4 answers without log-probabilities", call)
		}
		for _, text := range call.Texts {
			if !tinylm.Fits(prompt, text) {
				t.Errorf("the policy cannot write %q", text)
			}
			kinds[agents.NewCell(0, 0, text, prompt, step.Observation).Action.Type] = true
		}
	}
	if got, want := len(kinds), len(domain.ActionTypes(domain.FamilyMobile)); got != want {
		t.Errorf("%s: %d types of action are drawn, want %d", fmt.Sprint(kinds), got, want)
	}
}
