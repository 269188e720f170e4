package credit

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/chat"

	"github.com/golang/mock/gomock"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat/mock_chat"
)

func click(i int) string {
	return fmt.Sprintf("Reason: r\nAction: {\"action_type\":\"click\",\"index\":%d}", i)
}

// step makes a step of agents × rounds cells on a screen of ten buttons, of which `right` is right.
func step(number, right int, said [][]int) domain.Step {
	s := domain.Step{Number: number, Right: []domain.Action{domain.Action{Type: domain.ActionClick}.At(right)}}
	prompt := "Screen:\n"
	for i := range 10 {
		e := domain.Element{Index: i, Role: "button", Text: fmt.Sprint("b", i), Visible: true}
		s.Observation.Elements = append(s.Observation.Elements, e)
		prompt += agents.ElementLine(e) + "\n"
	}
	for a, row := range said {
		for j, i := range row {
			s.Decision.Cells = append(s.Decision.Cells, agents.NewCell(a, j, click(i), prompt, s.Observation))
		}
	}
	s.Decision.Executed = *s.Decision.Cells[0].Action
	return s
}

func TestLabels(t *testing.T) {
	s := step(1, 3, [][]int{{3, 1}, {2, 3}})
	if got := Oracle(s).Labels; fmt.Sprint(got) != "[1 0 0 1]" {
		t.Error(got)
	}
	if got := Outcome(s, true).Labels; fmt.Sprint(got) != "[1 -1 -1 1]" {
		t.Error(got)
	}
	if got := Outcome(s, false).Labels; fmt.Sprint(got) != "[0 -1 -1 0]" {
		t.Error(got)
	}
	s.Right = nil
	if got := Oracle(s).Labels; fmt.Sprint(got) != "[-1 -1 -1 -1]" {
		t.Error("a judge that cannot tell must not label: ", got)
	}
}

// pairs makes the pairs of steps; the adversary answers with the given indices.
func pairs(t *testing.T, r Rules, steps []domain.Step, answers ...int) ([]domain.Pair, PairCounts) {
	t.Helper()
	var credits []domain.Credit
	for _, s := range steps {
		credits = append(credits, Oracle(s))
	}
	ps, n, err := Pairs(t.Context(), r, 7, "tpl", steps, credits, func(context.Context, domain.Step, domain.Cell, int) ([]string, error) {
		var out []string
		for _, i := range answers {
			if i < 0 {
				out = append(out, "nonsense")
			} else {
				out = append(out, click(i))
			}
		}
		return out, nil
	}, OracleGrade)
	if err != nil {
		t.Fatal(err)
	}
	return ps, n
}

func TestTheFirstCandidateThatSurvivesEveryRuleIsRejected(t *testing.T) {
	s := step(1, 3, [][]int{{3, 3}})
	ps, n := pairs(t, Defaults, []domain.Step{s}, -1, 3, 5, 6)
	if len(ps) != 1 || ps[0].RejectedCanonical != "click index=5" || ps[0].Source != domain.SourceAdversary || ps[0].Round != 1 || n.Unparsed != 1 || n.Equal != 1 {
		t.Fatalf("%+v %+v", ps, n)
	}
}

func TestWithoutACandidateTheOwnThenAPeersWrongCellIsRejected(t *testing.T) {
	ps, _ := pairs(t, Defaults, []domain.Step{step(1, 3, [][]int{{1, 3}, {2, 2}})}, 3, 3)
	if len(ps) != 1 || ps[0].Source != domain.SourceOwn || ps[0].RejectedCanonical != "click index=1" {
		t.Fatalf("%+v", ps)
	}
	ps, _ = pairs(t, Defaults, []domain.Step{step(1, 3, [][]int{{3, 3}, {2, 2}})}, 3)
	if len(ps) != 1 || ps[0].Source != domain.SourcePeer || ps[0].RejectedCanonical != "click index=2" {
		t.Fatalf("%+v", ps)
	}
	hidden := step(1, 3, [][]int{{3, 3}, {2, 2}})
	for i := range hidden.Decision.Cells {
		hidden.Decision.Cells[i].Prompt = strings.Replace(hidden.Decision.Cells[i].Prompt, "2 button b2\n", "", 1)
	}
	ps, n := pairs(t, Defaults, []domain.Step{hidden}, 3)
	if len(ps) != 0 || n.NoPair != 1 {
		t.Fatalf("an element that the agent did not see was rejected: %+v", ps)
	}
}

func TestCorrectionsLimitsAndBalance(t *testing.T) {
	r := Defaults
	r.Correction = true
	ps, n := pairs(t, r, []domain.Step{step(1, 3, [][]int{{1, 2}, {3, 3}})}, 4)
	if n.Pairs[domain.SourceCorrection] != 1 || ps[0].Source != domain.SourceCorrection || ps[0].Agent != 0 || ps[0].ChosenCanonical != "click index=3" || ps[0].RejectedCanonical != "click index=2" {
		t.Fatalf("%+v", ps)
	}
	ps, n = pairs(t, r, []domain.Step{step(1, 3, [][]int{{2, 3}, {3, 3}})}, 3) // own: (3, 2); a correction would say the same
	if len(ps) != 2 || n.Pairs[domain.SourceCorrection] != 0 {
		t.Fatalf("a pair stands twice: %+v", ps)
	}
	var many []domain.Step
	for i := range 20 {
		many = append(many, step(i+1, 3, [][]int{{3, 3}}))
	}
	if ps, n = pairs(t, r, many, 4); len(ps) != r.PerEpisode || n.OverLimit != 20-r.PerEpisode {
		t.Fatalf("%d pairs, %+v", len(ps), n)
	}
	mixed := []domain.Pair{{Template: "a"}, {Template: "a"}, {Template: "a"}, {Template: "b"}}
	Balance(mixed)
	if math.Abs(3*mixed[0].Weight-mixed[3].Weight) > 1e-12 || math.Abs(3*mixed[0].Weight+mixed[3].Weight-4) > 1e-12 {
		t.Fatal(mixed)
	}
}

func TestTheAdversaryIsAskedOncePerAgentStepAndPositiveAction(t *testing.T) {
	model := mock_chat.NewMockModel(gomock.NewController(t))
	steps := []domain.Step{step(1, 3, [][]int{{3, 3}, {1, 3}}), step(2, 5, [][]int{{1, 1}, {5, 5}})}
	var credits []domain.Credit
	for _, s := range steps {
		credits = append(credits, Oracle(s))
	}
	// Agent 0 is right at step 1 (twice the same), agent 1 at both: three calls, step by step.
	var calls []*gomock.Call
	for _, temperature := range []float64{1, 101, 102} {
		calls = append(calls, model.EXPECT().Complete(gomock.Any(), chat.Request{N: 4, Temperature: temperature}).Return(chat.Response{Texts: []string{click(9)}}, nil))
	}
	gomock.InOrder(calls...)
	_, _, err := Pairs(t.Context(), Defaults, 1, "t", steps, credits, func(ctx context.Context, s domain.Step, c domain.Cell, n int) ([]string, error) {
		res, err := model.Complete(ctx, chat.Request{N: n, Temperature: float64(100*c.Agent + s.Number)})
		return res.Texts, err
	}, OracleGrade)
	if err != nil {
		t.Fatal(err)
	}
}

func TestStyleLeaksAreFound(t *testing.T) {
	var leak, clean []domain.Pair
	for i := range 100 {
		leak = append(leak, domain.Pair{Chosen: "surely click", Rejected: "maybe click"})
		clean = append(clean, domain.Pair{Chosen: click(i), Rejected: click(i + 1)})
	}
	if auc := StyleAUC(leak); auc < 0.99 {
		t.Error(auc)
	}
	if auc := StyleAUC(clean); math.Abs(auc-0.5) > 0.01 {
		t.Error(auc)
	}
}

func TestRareActionsOfDemonstrationsWeighMore(t *testing.T) {
	var pairs []domain.Pair
	for i := range 16 {
		pairs = append(pairs, domain.Pair{Chosen: click(i)})
	}
	pairs = append(pairs, domain.Pair{Chosen: `Action: {"action_type":"scroll","direction":"down"}`})
	BalanceActions(pairs)
	var sum, clicks float64
	for i, p := range pairs {
		sum += p.Weight
		if i < 16 {
			clicks += p.Weight
		}
	}
	if math.Abs(sum-17) > 1e-9 || math.Abs(clicks/pairs[16].Weight-4) > 1e-9 {
		t.Errorf("sum %v, clicks %v, scroll %v; want 17 in all and 4 to 1", sum, clicks, pairs[16].Weight)
	}
}

func TestACriticErrsAsOftenAsItIsToldAndEqualActionsStayEqual(t *testing.T) {
	turned, cells := 0, 0
	for seed := range uint64(400) {
		s := step(1, 3, [][]int{{3, 1}, {2, 3}})
		s.Decision.Cells = append(s.Decision.Cells, agents.NewCell(2, 0, "nonsense", "", s.Observation))
		want := append(Oracle(s).Labels[:4:4], domain.Uncertain)
		for _, share := range []float64{0, 0.3} {
			got, again := append([]domain.Label{}, want...), append([]domain.Label{}, want...)
			Flips{share, seed}.Apply(1, s.Decision.Cells, got)
			Flips{share, seed}.Apply(1, s.Decision.Cells, again)
			if fmt.Sprint(got) != fmt.Sprint(again) || got[0] != got[3] || got[4] != domain.Uncertain || share == 0 && fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("share %v: %v and %v of %v", share, got, again, want)
			}
			for i := range 3 { // three different actions
				if share > 0 {
					cells++
					if got[i] != want[i] {
						turned++
					}
				}
			}
		}
	}
	if rate := float64(turned) / float64(cells); rate < 0.26 || rate > 0.34 {
		t.Errorf("%.3f of the labels were turned round, not 0.3", rate)
	}
}
