package credit

import (
	"context"
	"slices"
	"testing"

	"github.com/collabui/collabui/domain"
)

func TestWhatBecameOfProposedAnswersIsFoundAgain(t *testing.T) {
	const slot = 7
	steps := []domain.Step{step(1, 3, [][]int{{3, 1}, {2, 3}})}
	steps[0].Right = append(steps[0].Right, domain.Action{Type: domain.ActionClick}.At(9))
	labels := Oracle(steps[0]).Labels
	clicks := []int{-1, 3, 9, 5, 6, 5} // unparsed, a cell's action, the right one, two wrong ones, one repeated
	model := answerer(func(user string) string { return scoresOf(user, map[string]float64{"5": 0.1, "6": 0.2}) })
	for name, c := range map[string]struct {
		review Review
		want   []Fate // fates of the answers to each call
		score  float64
	}{
		"the judge graded": {
			Review{}, []Fate{FateUnparsed, FateEqual, FateNotWrong, FatePaired, FateLimit, FateDuplicate}, 0,
		},
		"a critic graded": {
			Review{Robust: true, Audit: new(Audit)},
			[]Fate{FateUnparsed, FateEqual, FateUngraded, FatePaired, FateLimit, FateDuplicate}, 0.1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.review
			r.Step, r.Labels, r.Seed = steps[0], labels, slot
			grade := Grade(OracleGrade)
			if r.Audit != nil {
				grade = func(
					ctx context.Context, s domain.Step, labels []domain.Label, cands []domain.Cell,
				) (out []domain.Label, err error) {
					seed := CandidatesSeed(slot, s.Number)
					out, *r.Audit, err = critic(t, model).Candidates(ctx, s, labels, cands, seed)

					return out, err
				}
			}
			var calls []domain.Cell
			var texts []string
			for _, i := range clicks {
				texts = append(texts, map[bool]string{true: click(i), false: "nonsense"}[i >= 0])
			}
			ask := func(_ context.Context, _ domain.Step, cell domain.Cell, _ int) (out []Proposal, err error) {
				calls = append(calls, cell)
				for i, text := range texts {
					out = append(out, Proposal{Text: text, LogProb: -float64(1 + i)}) // the first ones are the hardest
				}

				return out, nil
			}
			maker := Maker{Rules: defaults, Adversary: ask, Grade: grade}
			made, counts, err := maker.Pairs(t.Context(), Episode{
				Slot: slot, Template: "tpl", Steps: steps, Credits: []domain.Credit{{Labels: labels}},
			})
			if err != nil || len(calls) != 2 {
				t.Fatalf("got %d calls (%v), want one for each of two positive cells", len(calls), err)
			}

			r.Pairs = made
			var got [][]ProposedAnswer
			for _, cell := range calls {
				got = append(got, r.Call(cell.Agent, cell.Round, texts))
			}
			again := r.Graded(got)
			n := map[Fate]int{}
			for _, call := range got {
				var fates []Fate
				for _, p := range call {
					n[p.Fate]++
					if fates = append(fates, p.Fate); p.Fate == FatePaired && c.score > 0 && p.Grade.Value != c.score {
						t.Errorf("%s has the score %v, want %v", p.Text, p.Grade.Value, c.score)
					}
				}
				if !slices.Equal(fates, c.want) {
					t.Errorf("the answers became %q, want %q", fates, c.want)
				}
			}
			if n[FateUnparsed] != counts.Unparsed || n[FateEqual] != counts.Equal ||
				n[FateNotWrong]+n[FateUngraded] != counts.NotNegative || n[FatePaired] != len(made) {
				t.Errorf("got %v, want what was counted: %+v", n, counts)
			}
			if r.Audit != nil && (len(again) != 1 || again["click index=3"].Value != 1) {
				t.Errorf("the cells that were graded again are %+v, want the one that is right, with score 1", again)
			}
		})
	}
}
