package experiment_test

import (
	"slices"
	"testing"

	"github.com/collabui/collabui/internal/experiment"
)

// TestWhatIsMissingIsCountedAndAClaimHoldsAtTheWorst lets first one episode be missing, then also all of a seed, then
// all.
func TestWhatIsMissingIsCountedAndAClaimHoldsAtTheWorst(t *testing.T) {
	x, err := parse(good)
	if err != nil {
		t.Fatal(err)
	}
	of, minus := [][]experiment.Episode{episodes(10, 6), episodes(10, 6), episodes(10, 5)}, [][]experiment.Episode{
		episodes(10, 1), episodes(10, 1), episodes(10, 1),
	}
	x.Contrasts = x.Contrasts[:1]
	test := func(margin float64) experiment.Row {
		x.Contrasts[0].Claim, x.Contrasts[0].Margin = experiment.ClaimNotWorse, margin

		return x.Test(func(p experiment.Play) [][]experiment.Episode {
			if p.String() == "full/base on test-seeds" {
				return minus
			}

			return of
		})[0]
	}
	if r := test(1); r.Missing != 0 || r.Worst != 0 || r.Best != 0 {
		t.Errorf("with all episodes %d are missing, want none", r.Missing)
	}
	of[0][9].Missing = true // base does not succeed there
	r := test(1)
	if r.Missing != 1 || !near(r.Worst, 100*(5.0+5+4)/30) || !near(r.Best, 100*(6.0+5+4)/30) {
		t.Errorf("%d are missing, from %v to %v; want 1, from 46.7 to 50", r.Missing, r.Worst, r.Best)
	}
	low := -min(r.Low, r.WideLow)
	if test(low+1).Holds || !test(low+2).Holds {
		t.Errorf("whether a claim holds with a bound of %v: got another answer than at the worst, want that", -low)
	}

	for i := range of[1] {
		of[1][i].Missing = true
	}
	r = test(1)
	want := []float64{100 * 5.0 / 9, 40}
	if !slices.EqualFunc(r.Seeds, want, near) || !near(r.OfRate, 100*(6.0/9+0.5)/2) {
		t.Errorf("the differences are %v, want %v: a seed without episodes says nothing", r.Seeds, want)
	}
	for k := range of {
		for i := range of[k] {
			of[k][i].Missing = true
		}
	}
	if r := test(1); len(r.Seeds) != 0 || r.Mean != 0 || r.Low != -100 || r.High != 100 || r.P != 1 || r.Holds {
		t.Errorf("without episodes the differences are %v, want none, and nothing that holds", r.Seeds)
	}
}
