package credit

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/chat/mock_chat"
)

// defaults are the rules of these tests unless they state others, not the defaults of a specification.
var defaults = Rules{Candidates: 4, Negatives: 1, Cells: LatestCells, PerStep: 2, PerEpisode: 8}

// pairs makes the pairs of steps by the oracle. The adversary answers with clicks on the given indices; -1 does not
// parse.
func pairs(t *testing.T, r Rules, steps []domain.Step, clicks ...int) ([]domain.Example, PairCounts) {
	t.Helper()
	var credits []domain.Credit
	for _, s := range steps {
		credits = append(credits, Oracle(s))
	}
	adversary := func(context.Context, domain.Step, domain.Cell, int) ([]Proposal, error) {
		var out []Proposal
		for _, i := range clicks {
			text := "nonsense"
			if i >= 0 {
				text = click(i)
			}
			out = append(out, Proposal{Text: text})
		}

		return out, nil
	}
	maker := Maker{Rules: r, Adversary: adversary, Grade: OracleGrade}
	ps, n, err := maker.Pairs(t.Context(), Episode{Slot: 7, Template: "tpl", Steps: steps, Credits: credits})
	if err != nil {
		t.Fatal(err)
	}

	return ps, n
}

// oneStep returns an episode of one step.
func oneStep(s domain.Step, credit domain.Credit) Episode {
	return Episode{Slot: 7, Template: "tpl", Steps: []domain.Step{s}, Credits: []domain.Credit{credit}}
}

func TestTheRejectedAnswerOfAPositiveCell(t *testing.T) {
	unseen := step(1, 3, [][]int{{3, 3}, {2, 2}})
	unseen.Decision.Seen[0] = []int{0, 1, 3, 4, 5, 6, 7, 8, 9}
	told := step(1, 3, [][]int{{3, 3}, {2, 2}})
	told.Decision.Seen[0] = unseen.Decision.Seen[0]
	cut := step(1, 3, [][]int{{3, 3}, {2, 2}})
	for i := range 2 {
		told.Decision.Cells[i].Told = []int{2}
		cut.Decision.Cells[i].LeftOut.Elements = []int{2}
	}
	older := step(1, 3, [][]int{{3, 3}, {2, 2}})
	older.Decision.Seen = nil
	hidden := older
	hidden.Observation.Elements = append([]domain.Element(nil), older.Observation.Elements...)
	hidden.Observation.Elements[2].Visible = false
	for name, c := range map[string]struct {
		step     domain.Step
		clicks   []int
		source   domain.Source
		rejected string // empty if no pair is made
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
		"unless a peer named it in the prompt":             {told, []int{3}, domain.SourcePeer, "click index=2"},
		"nor at one that the prompt left out":              {cut, []int{3}, "", ""},
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

// TestRFTLearnsFromEveryRightAnswerOnce checks that neither the number of wrong answers nor their absence matters.
func TestRFTLearnsFromEveryRightAnswerOnce(t *testing.T) {
	r := defaults
	r.ChosenOnly = true
	r.Cells = FirstCells
	steps := []domain.Step{
		step(1, 3, [][]int{{3, 3, 3}, {2, 1, 3}}), // many wrong answers
		step(2, 2, [][]int{{2, 2, 2}, {2, 2, 2}}), // none
		step(3, 1, [][]int{{4, 5, 6}, {4, 5, 6}}), // nothing is right
	}
	got, n := pairs(t, r, steps, 5, 6, 7)
	type row struct{ agent, step, round int }
	var rows []row
	for _, p := range got {
		rows = append(rows, row{p.Agent, p.Step, p.Round})
		if p.Rejected != "" || p.RejectedCanonical != "" || p.Source != domain.SourceNone || p.Weight != 1 {
			t.Errorf("the row %+v rejects something, want a right answer alone", p)
		}
	}
	if want := []row{{0, 1, 0}, {0, 2, 0}, {1, 1, 2}, {1, 2, 0}}; !slices.Equal(rows, want) {
		t.Errorf("rows %v, want %v", rows, want)
	}
	if n.NoPair != 0 || n.Unparsed+n.Equal+n.NotNegative != 0 || n.Pairs[domain.SourceNone] != 4 {
		t.Errorf("counts %+v, want 4 rows, and no answers of an adversary", n)
	}
}

// TestCloningNeedsNoRejectedAnswer checks that the actions of an agent that decided alone in a successful episode,
// which have no other answer to be compared with, serve filtered behaviour cloning, but not preference optimisation.
func TestCloningNeedsNoRejectedAnswer(t *testing.T) {
	steps := []domain.Step{step(1, 3, [][]int{{3}}), step(2, 2, [][]int{{2}})}
	r := defaults
	r.OutcomeOnly = true
	if got, n := pairs(t, r, steps); len(got) != 0 || n.NoPair != 2 {
		t.Errorf("got %d pairs of one agent, %d answers without one; want 0 and 2", len(got), n.NoPair)
	}
	r.ChosenOnly = true
	got, n := pairs(t, r, steps)
	if len(got) != 2 || n.NoPair != 0 || n.Pairs[domain.SourceNone] != 2 {
		t.Fatalf("got %d rows of one agent, %+v; want 2 of source %q", len(got), n, domain.SourceNone)
	}
	for i, p := range got {
		if want := steps[i].Decision.Cells[0]; p.Chosen != want.Text || p.Prompt != want.Prompt || p.Rejected != "" {
			t.Errorf("row %d is %+v, want the answer of the step alone", i, p)
		}
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
	got := answers{ps[0].ChosenCanonical, ps[0].RejectedCanonical, anyRound}
	want := answers{"click index=3", "click index=2", anyRound}
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

	byStep := func(a, b domain.Example) int { return a.Step - b.Step }
	if !slices.IsSortedFunc(ps, byStep) || ps[len(ps)-1].Step <= defaults.PerEpisode {
		t.Errorf("the last of the pairs is of step %d, want one drawn over all 20", ps[len(ps)-1].Step)
	}
	if again, _ := pairs(t, defaults, many, 4); !reflect.DeepEqual(again, ps) {
		t.Errorf("with the same seed %+v are drawn, want %+v", again, ps)
	}
	reseeded := defaults
	reseeded.Seed++
	if other, _ := pairs(t, reseeded, many, 4); reflect.DeepEqual(other, ps) {
		t.Errorf("with another seed %+v are drawn, want others", other)
	}
}

func TestAPositiveCellHasSeveralRejectedAnswersTheHardestFirst(t *testing.T) {
	r := defaults
	r.Negatives, r.PerStep = 5, 9
	s := step(1, 3, [][]int{{1, 3}, {2, 2}})
	for i, logprob := range []float64{-1, -2, -3, -4} {
		s.Decision.Cells[i].LogProb = logprob
	}
	logprob := map[int]float64{5: -7, 6: -5, 7: 0} // unknown for 7
	adversary := func(context.Context, domain.Step, domain.Cell, int) ([]Proposal, error) {
		var out []Proposal
		for _, i := range []int{7, 5, 3, 6} {
			out = append(out, Proposal{Text: click(i), LogProb: logprob[i]})
		}

		return out, nil
	}
	maker := Maker{Rules: r, Adversary: adversary, Grade: OracleGrade}
	all, _, err := maker.Pairs(t.Context(), oneStep(s, Oracle(s)))
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, p := range all {
		if p.Agent == 0 {
			got = append(got, string(p.Source)+" "+p.RejectedCanonical)
		}
	}
	want := []string{
		"adversary click index=6", "adversary click index=5", "adversary click index=7",
		"own click index=1", "peer click index=2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rejected %q, want %q", got, want)
	}
}

func TestTheChoiceOfCellsDecidesThePrompt(t *testing.T) {
	chain := domain.Topology{Agents: 2, Edges: [][2]int{{1, 0}}} // agent 0 reads agent 1
	agree := step(1, 3, [][]int{{3, 3, 3}, {3, 3, 3}})
	later := step(1, 3, [][]int{{3, 3, 3}, {3, 3, 2}}) // agent 1 errs in the last round
	for name, c := range map[string]struct {
		cells  CellChoice
		step   domain.Step
		rounds []int // of agent 0's chosen answers
	}{
		"the latest":                         {LatestCells, agree, []int{2}},
		"the first":                          {FirstCells, agree, []int{0}},
		"nobody erred":                       {UncertainCells, agree, nil},
		"somebody erred":                     {UncertainCells, later, []int{0}},
		"no message contradicts":             {ContradictedCells, agree, nil},
		"a message of round 2 contradicts":   {ContradictedCells, later, []int{2}},
		"the own earlier answer contradicts": {ContradictedCells, step(1, 3, [][]int{{2, 3, 3}, {3, 3, 3}}), []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			r := defaults
			r.Cells, r.Topology = c.cells, chain
			ps, _ := pairs(t, r, []domain.Step{c.step}, 5)
			var rounds []int
			for _, p := range ps {
				if p.Agent == 0 {
					rounds = append(rounds, p.Round)
				}
			}
			if !slices.Equal(rounds, c.rounds) {
				t.Errorf("agent 0 learns from rounds %v, want %v", rounds, c.rounds)
			}
		})
	}
}

func TestTheAdversaryIsAskedOncePerAgentStepAndPositiveAction(t *testing.T) {
	model := mock_chat.NewMockModel(gomock.NewController(t))
	steps := []domain.Step{step(1, 3, [][]int{{3, 3}, {1, 3}}), step(2, 5, [][]int{{1, 1}, {5, 5}})}
	var credits []domain.Credit
	for _, s := range steps {
		credits = append(credits, Oracle(s))
	}

	// Agent 0 is right at step 1, twice with the same action, and agent 1 is right at both steps, so there are three
	// calls, in the order of steps.
	var calls []*gomock.Call
	for _, temperature := range []float64{1, 101, 102} {
		calls = append(calls, model.EXPECT().
			Complete(gomock.Any(), chat.Request{N: 4, Temperature: temperature}).
			Return(chat.Response{Texts: []string{click(9)}}, nil))
	}
	gomock.InOrder(calls...)

	adversary := func(ctx context.Context, s domain.Step, c domain.Cell, n int) ([]Proposal, error) {
		res, err := model.Complete(ctx, chat.Request{N: n, Temperature: float64(100*c.Agent + s.Number)})
		if err != nil {
			return nil, err
		}

		return []Proposal{{Text: res.Texts[0]}}, nil
	}
	maker := Maker{Rules: defaults, Adversary: adversary, Grade: OracleGrade}
	if _, _, err := maker.Pairs(t.Context(), Episode{Steps: steps, Credits: credits}); err != nil {
		t.Fatal(err)
	}
}
