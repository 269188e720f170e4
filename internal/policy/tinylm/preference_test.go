package tinylm

import (
	"math"
	"testing"

	"github.com/collabui/collabui/domain"
)

// losses are all losses with hyper-parameters at which they differ.
var losses = map[string]DPO{
	"dpo":            {Beta: 0.5},
	"dpo, smoothed":  {Loss: domain.LossDPO, Beta: 0.5, Smoothing: 0.1},
	"dpo-normalised": {Loss: domain.LossNormalised, Beta: 0.5},
	"dpo-positive":   {Loss: domain.LossPositive, Beta: 0.5},
	"ipo":            {Loss: domain.LossIPO, Beta: 0.5},
}

// answersOf have one and three decisions.
var answersOf = []Choice{{Kind: 2, Elem: -1, Start: -1, End: -1}, {Kind: 1, Elem: 3, Start: -1, End: -1}}

func TestTheGradientOfEveryLossIsItsDerivative(t *testing.T) {
	const step = 1e-6
	for name, h := range losses {
		for _, lp := range [][]float64{{-1, -2}, {-3, -0.5}, {-2, -2}} {
			ref := []float64{-1.5, -1.2}
			_, _, d := h.pair(lp, ref, answersOf)
			for k := range lp {
				up, down := append([]float64(nil), lp...), append([]float64(nil), lp...)
				up[k] += step
				down[k] -= step
				high, _, _ := h.pair(up, ref, answersOf)
				low, _, _ := h.pair(down, ref, answersOf)
				if want := (high - low) / (2 * step); math.Abs(d[k]-want) > 1e-6 {
					t.Errorf("%s at %v: derivative %d = %v, want %v", name, lp, k, d[k], want)
				}
			}
		}
	}
}

func TestSmoothingGivesTheMarginATarget(t *testing.T) {
	h := DPO{Beta: 1, Smoothing: 0.1}
	target := math.Log(0.9 / 0.1)
	for _, c := range []struct{ margin, sign float64 }{{target - 1, -1}, {target, 0}, {target + 1, 1}} {
		_, _, d := h.pair([]float64{c.margin, 0}, []float64{0, 0}, answersOf)
		if got := math.Round(d[0]*1e9) / 1e9; got*c.sign < 0 || (got == 0) != (c.sign == 0) {
			t.Errorf("margin %.2f: derivative by the chosen answer = %v, want its sign %v", c.margin, d[0], c.sign)
		}
	}
}

func TestALostChosenAnswerCostsMoreUnderDPOPositive(t *testing.T) {
	lp, ref := []float64{-3, -9}, []float64{-1, -2} // both answers lost probability, the rejected one more
	_, _, plain := DPO{Beta: 0.1}.pair(lp, ref, answersOf)
	_, _, positive := DPO{Loss: domain.LossPositive, Beta: 0.1}.pair(lp, ref, answersOf)
	if positive[0] >= 5*plain[0] {
		t.Errorf("derivative by the chosen answer = %v, want at most five times %v", positive[0], plain[0])
	}
}
