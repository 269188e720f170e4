package preference

import (
	"math"
	"testing"
)

func TestTheLossOfASampleIsClippedOnTheSideThatItPullsTo(t *testing.T) {
	g := Gradient{Clip: 0.2}
	for name, c := range map[string]struct {
		ratio, advantage, loss, d float64
	}{
		"at the start":          {1, 2, -2, -2},
		"raised within":         {1.1, 2, -2.2, -2.2},
		"raised too far":        {1.5, 2, -2.4, 0},
		"fell, should rise":     {0.5, 2, -1, -1},
		"lowered within":        {0.9, -2, 1.8, 1.8},
		"lowered too far":       {0.5, -2, 1.6, 0},
		"rose, but should fall": {1.5, -2, 3, 3},
	} {
		t.Run(name, func(t *testing.T) {
			loss, d := g.Sample(-3+math.Log(c.ratio), -3, -9, c.advantage)
			if math.Abs(loss-c.loss) > 1e-9 || math.Abs(d-c.d) > 1e-9 {
				t.Errorf("Sample = %v, %v, want %v, %v", loss, d, c.loss, c.d)
			}
		})
	}
}

func TestTheDerivativeOfASampleIsThatOfItsLoss(t *testing.T) {
	g := Gradient{Clip: 0.2, KL: 0.7}
	for _, logp := range []float64{-4, -3.1, -2.95, -1} {
		for _, advantage := range []float64{-1.3, 0, 0.8} {
			const h = 1e-6
			up, _ := g.Sample(logp+h, -3, -2.5, advantage)
			down, _ := g.Sample(logp-h, -3, -2.5, advantage)
			_, got := g.Sample(logp, -3, -2.5, advantage)
			if want := (up - down) / (2 * h); math.Abs(got-want) > 1e-5 {
				t.Errorf("derivative at %v with advantage %v = %v, want %v", logp, advantage, got, want)
			}
		}
	}
	if loss, d := g.Sample(-3, -3, -3, 0); loss != 0 || d != 0 {
		t.Errorf("Sample at the reference without an advantage = %v, %v, want 0, 0", loss, d)
	}
}
