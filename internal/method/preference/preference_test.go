package preference

import (
	"math"
	"testing"

	"github.com/collabui/collabui/domain"
)

// losses holds all losses with hyper-parameters at which they differ.
var losses = map[string]Rule{
	"dpo":            {Beta: 0.5},
	"dpo, smoothed":  {Loss: domain.LossDPO, Beta: 0.5, Smoothing: 0.1},
	"dpo-normalised": {Loss: domain.LossNormalised, Beta: 0.5},
	"dpo-positive":   {Loss: domain.LossPositive, Beta: 0.5},
	"ipo":            {Loss: domain.LossIPO, Beta: 0.5},
}

// tokens holds the lengths of a short and a longer answer.
var tokens = Answers{1, 3}

func TestTheGradientOfEveryLossIsItsDerivative(t *testing.T) {
	const step = 1e-6
	for name, h := range losses {
		for _, lp := range []Answers{{-1, -2}, {-3, -0.5}, {-2, -2}} {
			ref := Answers{-1.5, -1.2}
			_, _, d := h.Pair(lp, ref, tokens)
			for k := range lp {
				up, down := lp, lp
				up[k] += step
				down[k] -= step
				high, _, _ := h.Pair(up, ref, tokens)
				low, _, _ := h.Pair(down, ref, tokens)
				if want := (high - low) / (2 * step); math.Abs(d[k]-want) > 1e-6 {
					t.Errorf("%s at %v: derivative %d = %v, want %v", name, lp, k, d[k], want)
				}
			}
		}
	}
}

func TestSmoothingGivesTheMarginATarget(t *testing.T) {
	h := Rule{Beta: 1, Smoothing: 0.1}
	target := math.Log(0.9 / 0.1)
	for _, c := range []struct{ margin, sign float64 }{{target - 1, -1}, {target, 0}, {target + 1, 1}} {
		_, _, d := h.Pair(Answers{c.margin, 0}, Answers{}, tokens)
		if got := math.Round(d[0]*1e9) / 1e9; got*c.sign < 0 || (got == 0) != (c.sign == 0) {
			t.Errorf("margin %.2f: derivative by the chosen answer = %v, want its sign %v", c.margin, d[0], c.sign)
		}
	}
}

func TestAPairAtItsReferenceHasNoMargin(t *testing.T) {
	ref := Answers{-3, -0.5}
	for name, h := range losses {
		if _, margin, _ := h.Pair(ref, ref, tokens); margin != 0 {
			t.Errorf("%s: margin %v, want 0", name, margin)
		}
	}
}

// TestIPOHasItsMinimumAtItsTarget checks that the target is 1/(2β) (Azar et al., "A General Theoretical Paradigm",
// 2023, equation 17).
func TestIPOHasItsMinimumAtItsTarget(t *testing.T) {
	h := Rule{Loss: domain.LossIPO, Beta: 0.25}
	if loss, _, d := h.Pair(Answers{2, 0}, Answers{}, tokens); loss != 0 || d != (Answers{}) {
		t.Errorf("loss %v and derivatives %v at a difference of 2, want zeros", loss, d)
	}
}

func TestALostChosenAnswerCostsMoreUnderDPOPositive(t *testing.T) {
	lp, ref := Answers{-3, -9}, Answers{-1, -2} // both answers became less probable, the rejected one more so
	_, _, plain := Rule{Beta: 0.1}.Pair(lp, ref, tokens)
	_, _, positive := Rule{Loss: domain.LossPositive, Beta: 0.1}.Pair(lp, ref, tokens)
	if positive[0] >= 5*plain[0] {
		t.Errorf("derivative by the chosen answer = %v, want at most five times %v", positive[0], plain[0])
	}
}

func TestTheShareOfThePreferenceTerm(t *testing.T) {
	for name, c := range map[string]struct {
		rule Rule
		logp Answers
		want float64
	}{
		"no SFT term":                  {Rule{Beta: 1}, Answers{-1, -2}, 1},
		"both terms, at the reference": {Rule{Beta: 0.1, Ftx: 0.5}, Answers{}, 0.1 / 0.6},
		"the margin has its target":    {Rule{Beta: 1, Smoothing: 0.5, Ftx: 1}, Answers{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.rule.Share(c.logp, Answers{}, tokens); math.Abs(got-c.want) > 1e-9 {
				t.Errorf("Share = %v, want %v", got, c.want)
			}
		})
	}
}
