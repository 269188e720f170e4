package credit

import (
	"context"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/chat/mock_chat"
)

// defaults are the rules of a specification that does not change them.
var defaults = Rules{Candidates: 4, PerStep: 2, PerEpisode: 8}

// pairs makes the pairs of steps by the oracle. The adversary answers with clicks on the given indices; -1 does not
// parse.
func pairs(t *testing.T, r Rules, steps []domain.Step, clicks ...int) ([]domain.Pair, PairCounts) {
	t.Helper()
	var credits []domain.Credit
	for _, s := range steps {
		credits = append(credits, Oracle(s))
	}
	adversary := func(context.Context, domain.Step, domain.Cell, int) ([]string, error) {
		var out []string
		for _, i := range clicks {
			text := "nonsense"
			if i >= 0 {
				text = click(i)
			}
			out = append(out, text)
		}

		return out, nil
	}
	ps, n, err := Pairs(t.Context(), r, 7, "tpl", steps, credits, adversary, OracleGrade)
	if err != nil {
		t.Fatal(err)
	}

	return ps, n
}

func TestTheRejectedAnswerOfAPositiveCell(t *testing.T) {
	unseen := step(1, 3, [][]int{{3, 3}, {2, 2}})
	unseen.Decision.Seen[0] = []int{0, 1, 3, 4, 5, 6, 7, 8, 9}
	older := step(1, 3, [][]int{{3, 3}, {2, 2}})
	older.Decision.Seen = nil
	hidden := older
	hidden.Observation.Elements = append([]domain.Element(nil), older.Observation.Elements...)
	hidden.Observation.Elements[2].Visible = false
	for name, c := range map[string]struct {
		step     domain.Step
		clicks   []int
		source   domain.Source
		rejected string // empty: there is no pair
	}{
		"the first candidate that survives every rule": {
			step(1, 3, [][]int{{3, 3}}), []int{-1, 3, 5, 6}, domain.SourceAdversary, "click index=5",
		},
		"else the own wrong cell": {
			step(1, 3, [][]int{{1, 3}, {2, 2}}), []int{3, 3}, domain.SourceOwn, "click index=1",
		},
		"else a peer's": {
			step(1, 3, [][]int{{3, 3}, {2, 2}}), []int{3}, domain.SourcePeer, "click index=2",
		},
		"but not at an element that the agent did not see": {unseen, []int{3}, "", ""},
		"older records: the screen showed the element":     {older, []int{3}, domain.SourcePeer, "click index=2"},
		"older records: it did not":                        {hidden, []int{3}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			ps, n := pairs(t, defaults, []domain.Step{c.step}, c.clicks...)
			if c.rejected == "" {
				if len(ps) != 0 || n.NoPair != 1 {
					t.Errorf("pairs %+v, counts %+v; want no pair", ps, n)
				}

				return
			}
			if len(ps) != 1 {
				t.Fatalf("%d pairs %+v, want 1", len(ps), ps)
			}
			if ps[0].Source != c.source || ps[0].RejectedCanonical != c.rejected || ps[0].Round != 1 {
				t.Errorf("round %d rejects %s of source %s, want round 1, %s, %s",
					ps[0].Round, ps[0].RejectedCanonical, ps[0].Source, c.rejected, c.source)
			}
		})
	}
}

func TestCandidatesThatCannotServeAreCounted(t *testing.T) {
	_, n := pairs(t, defaults, []domain.Step{step(1, 3, [][]int{{3, 3}})}, -1, 3, 5, 6)
	if n.Unparsed != 1 || n.Equal != 1 {
		t.Errorf("%d unparsed and %d equal, want 1 and 1", n.Unparsed, n.Equal)
	}
}

func TestACorrectionPairsAPeersRightActionWithTheOwnWrongOne(t *testing.T) {
	r := defaults
	r.Correction = true
	ps, n := pairs(t, r, []domain.Step{step(1, 3, [][]int{{1, 2}, {3, 3}})}, 4)
	if got := n.Pairs[domain.SourceCorrection]; got != 1 {
		t.Fatalf("%d corrections in %+v, want 1", got, ps)
	}
	got := answers{ps[0].ChosenCanonical, ps[0].RejectedCanonical}
	want := answers{"click index=3", "click index=2"}
	if ps[0].Source != domain.SourceCorrection || ps[0].Agent != 0 || got != want {
		t.Errorf("%s of agent %d pairs %v, want a correction of agent 0 that pairs %v",
			ps[0].Source, ps[0].Agent, got, want)
	}
}

func TestACorrectionThatRepeatsAPairIsLeftOut(t *testing.T) {
	r := defaults
	r.Correction = true
	ps, n := pairs(t, r, []domain.Step{step(1, 3, [][]int{{2, 3}, {3, 3}})}, 3)
	if len(ps) != 2 || n.Pairs[domain.SourceCorrection] != 0 {
		t.Errorf("%d pairs with %d corrections, want 2 and 0", len(ps), n.Pairs[domain.SourceCorrection])
	}
}

func TestPairsOfAnEpisodeAreLimited(t *testing.T) {
	var many []domain.Step
	for i := range 20 {
		many = append(many, step(i+1, 3, [][]int{{3, 3}}))
	}
	ps, n := pairs(t, defaults, many, 4)
	if got, want := len(ps), defaults.PerEpisode; got != want {
		t.Errorf("%d pairs, want %d", got, want)
	}
	if got, want := n.OverLimit, 20-defaults.PerEpisode; got != want {
		t.Errorf("%d pairs over the limit, want %d", got, want)
	}
}

func TestTheAdversaryIsAskedOncePerAgentStepAndPositiveAction(t *testing.T) {
	model := mock_chat.NewMockModel(gomock.NewController(t))
	steps := []domain.Step{step(1, 3, [][]int{{3, 3}, {1, 3}}), step(2, 5, [][]int{{1, 1}, {5, 5}})}
	var credits []domain.Credit
	for _, s := range steps {
		credits = append(credits, Oracle(s))
	}

	// Agent 0 is right at step 1, twice with the same action, and agent 1 at both: three calls, step by step.
	var calls []*gomock.Call
	for _, temperature := range []float64{1, 101, 102} {
		calls = append(calls, model.EXPECT().
			Complete(gomock.Any(), chat.Request{N: 4, Temperature: temperature}).
			Return(chat.Response{Texts: []string{click(9)}}, nil))
	}
	gomock.InOrder(calls...)

	adversary := func(ctx context.Context, s domain.Step, c domain.Cell, n int) ([]string, error) {
		res, err := model.Complete(ctx, chat.Request{N: n, Temperature: float64(100*c.Agent + s.Number)})

		return res.Texts, err
	}
	if _, _, err := Pairs(t.Context(), defaults, 1, "t", steps, credits, adversary, OracleGrade); err != nil {
		t.Fatal(err)
	}
}
