package credit

import (
	"context"
	"slices"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
)

// plain words an action without a reason.
func plain(action domain.Action, _ domain.Observation) string { return "Action: " + action.JSON() }

// canonicals returns the canonical actions of answers, which must all parse.
func canonicals(t *testing.T, s domain.Step, answers []string) []string {
	t.Helper()
	var out []string
	for _, answer := range answers {
		cell := agents.NewCell(0, 0, answer, "", s.Observation)
		if cell.Action == nil {
			t.Fatalf("%q does not parse: %s", answer, cell.ParseError)
		}
		out = append(out, cell.Canonical)
	}

	return out
}

func TestRandomActionsAreDrawnFromWhatThePromptShows(t *testing.T) {
	s := step(1, 3, [][]int{{3}})
	s.Goal = "send forty words"
	s.Decision.Seen[0] = []int{3, 4, 5}
	s.Decision.Cells[0].LeftOut.Elements = []int{4}
	s.Decision.Cells[0].Told = []int{8}
	s.Observation.Elements[5].Editable = true
	right := s.Decision.Cells[0].Canonical
	adversary := RandomAdversary{Family: domain.FamilyMobile, Word: plain}

	drawn := map[string]bool{}
	named := map[int]bool{}
	kinds := map[string]bool{}
	for seed := range uint64(400) {
		answers := adversary.Propose(s, s.Decision.Cells[0], 4, seed)
		got := canonicals(t, s, answers)
		if len(slices.Compact(slices.Sorted(slices.Values(got)))) != 4 || slices.Contains(got, right) {
			t.Fatalf("seed %d draws %v, want 4 different actions other than %s", seed, got, right)
		}
		if again := adversary.Propose(s, s.Decision.Cells[0], 4, seed); !slices.Equal(again, answers) {
			t.Fatalf("seed %d draws %v, then %v, want the same", seed, answers, again)
		}
		for i, canonical := range got {
			drawn[canonical] = true
			action := agents.NewCell(0, 0, answers[i], "", s.Observation).Action
			kinds[action.Type] = true
			if action.Index != nil {
				named[*action.Index] = true
			}
			if action.Type == domain.ActionInputText && *action.Index != 5 {
				t.Errorf("seed %d types into element %d, want the field, 5", seed, *action.Index)
			}
		}
	}
	if len(named) != 3 || !named[3] || !named[5] || !named[8] {
		t.Errorf("the actions name the elements %v, want 3 and 5, which the prompt shows, and 8 of a peer", named)
	}
	if want := domain.ActionTypes(domain.FamilyMobile); len(kinds) != len(want) {
		t.Errorf("%d types of action are drawn, %v; want all of %v", len(kinds), kinds, want)
	}
	for _, want := range []string{
		`answer text="forty words"`, `swipe direction="left"`, `status goal_status="infeasible"`,
	} {
		if !drawn[want] {
			t.Errorf("%s is never drawn among %d actions", want, len(drawn))
		}
	}
}

func TestRandomActionsOfTheWebNameElementsByTheirIDs(t *testing.T) {
	s := domain.Step{Goal: "buy one", Observation: domain.Observation{Elements: []domain.Element{
		{Index: 0, ID: "A", Role: "button", Visible: true},
		{Index: 1, ID: domain.NoID, Role: "text", Text: "free", Visible: true},
		{Index: 2, ID: "C", Role: domain.RoleSelect, Visible: true},
	}}}
	s.Decision.Seen = [][]int{{0, 1, 2}}
	adversary := RandomAdversary{Family: domain.FamilyWeb, Word: plain}
	kinds := map[string]bool{}
	for seed := range uint64(200) {
		for _, answer := range adversary.Propose(s, domain.Cell{}, 4, seed) {
			action := agents.NewCell(0, 0, answer, "", s.Observation).Action
			if action == nil || !action.InFamily(domain.FamilyWeb) {
				t.Fatalf("%q is no action of the web", answer)
			}
			kinds[action.Type] = true
			if action.Element != "" && action.Element != "A" && action.Element != "C" ||
				action.Type == domain.ActionSelect && action.Element != "C" {
				t.Errorf("%q names an element that it cannot name", answer)
			}
		}
	}
	for _, kind := range domain.ActionTypes(domain.FamilyWeb) {
		// There is no field, and screens show neither addresses nor tabs.
		hidden := []string{domain.ActionTypeString, domain.ActionJumpTo, domain.ActionSwitchTab}
		if kinds[kind] == slices.Contains(hidden, kind) {
			t.Errorf("%s is drawn: %v, want the opposite", kind, kinds[kind])
		}
	}
}

// TestRandomActionsArePairedInTheOrderOfTheirDraw checks that random answers that the policies cannot write are drawn
// again, and that an answer that is right is not rejected.
func TestRandomActionsArePairedInTheOrderOfTheirDraw(t *testing.T) {
	s := step(1, 3, [][]int{{3}})
	click := func(prompt, answer string) bool {
		action := agents.NewCell(0, 0, answer, prompt, s.Observation).Action

		return prompt == s.Decision.Cells[0].Prompt && action.Type == domain.ActionClick
	}
	adversary := RandomAdversary{Family: domain.FamilyMobile, Word: plain, Fits: click}
	answers := adversary.Propose(s, s.Decision.Cells[0], 20, 1)
	if len(answers) != 9 {
		t.Errorf("%d answers, want a click on each of the 9 other elements: %v", len(answers), answers)
	}

	right := s
	right.Right = append(right.Right, domain.Action{Type: domain.ActionClick}.At(7))
	var proposals []Proposal
	for _, answer := range answers {
		proposals = append(proposals, Proposal{Text: answer})
	}
	r := defaults
	r.Negatives, r.PerStep, r.PerEpisode = 20, 20, 20
	propose := func(context.Context, domain.Step, domain.Cell, int) ([]Proposal, error) { return proposals, nil }
	maker := Maker{Rules: r, Adversary: propose, Grade: OracleGrade}
	got, n, err := maker.Pairs(t.Context(), oneStep(right, Oracle(right)))
	if err != nil || len(got) != 8 || n.NotNegative != 1 {
		t.Fatalf("%d pairs, %+v, %v; want one for each of the 8 answers that are wrong", len(got), n, err)
	}
	k := 0
	for _, answer := range answers {
		if canonicals(t, s, []string{answer})[0] == "click index=7" {
			continue
		}
		if got[k].Rejected != answer || got[k].Source != domain.SourceAdversary {
			t.Errorf("pair %d rejects %q of %s, want %q of the adversary", k, got[k].Rejected, got[k].Source, answer)
		}
		k++
	}
}
