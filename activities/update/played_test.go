package update

import (
	"math"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/trainer"
)

// TestTheFormInWhichAServerReturnsLogProbabilitiesIsRecognised: engines return log π at temperature 1, at the
// temperature of the sampling, or within top_p.
func TestTheFormInWhichAServerReturnsLogProbabilitiesIsRecognised(t *testing.T) {
	t.Parallel()
	scores := []trainer.Score{
		{LogProb: -8, Scaled: -4, Cut: -2, Tokens: 4}, {LogProb: -6, Scaled: -3, Cut: -1, Tokens: 2},
		{LogProb: -5, Scaled: -2, Cut: -1, Tokens: 9}, // the text has other tokens than were sampled
	}
	for name, c := range map[string]struct {
		server [3]float64
		mean   float64
	}{
		"at temperature 1":     {[3]float64{-8, -6, -1}, 0},
		"at the temperature":   {[3]float64{-4, -3.02, -1}, 0.005},
		"within top_p":         {[3]float64{-2, -1, -1}, 0},
		"of another policy":    {[3]float64{-20, -14, -1}, 3.5},
		"no log-probabilities": {[3]float64{math.Inf(-1), -6, -1}, 5e5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var cells []sampledCell
			for i, tokens := range []int{4, 2, 3} {
				cells = append(cells, sampledCell{logProb: c.server[i], tokens: tokens})
			}
			got := played(cells, scores, 0.02, "")
			if got.Answers != 2 || got.Left != 1 || math.Abs(got.Mean-c.mean) > 1e-9 || got.Wide() != (c.mean > 0.02) {
				t.Errorf("the gap is %+v, want a mean of %v over two answers, and one left out", got, c.mean)
			}
		})
	}
	if got := played(nil, nil, 0.02, "no package"); got != (domain.Gap{Unknown: "no package"}) {
		t.Errorf("the gap is %+v, want why it is unknown", got)
	}
}
