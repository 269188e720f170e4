package tinylm

import (
	"math"

	"github.com/collabui/collabui/domain"
)

// positiveLambda is λ of domain.LossPositive.
const positiveLambda = 5

// DPO are the hyper-parameters of preference optimisation with an SFT term: the loss of a pair is that of Loss minus
// Ftx·log π(y⁺|x)/|y⁺|, with the number of tokens |y⁺| of the chosen answer (docs/method.md).
type DPO struct {
	Loss      domain.Loss // empty: domain.LossDPO
	Beta      float64     // above 0
	Smoothing float64     // ε, from 0 to below 0.5
	Ftx       float64     // at least 0: the weight of the SFT term on the chosen answer
}

// DPOStats are means over a batch before its step.
type DPOStats struct {
	Loss         float64
	Margin       float64 // β·(Δ⁺ − Δ⁻)
	Accuracy     float64 // share of positive margins
	LogpChosen   float64 // log π(y⁺|x)
	LogpRejected float64 // log π(y⁻|x)
}

// DPOStep makes a step. ref[i] holds log π_ref of the two answers of batch[i]; weight[i] scales its loss, 1 for a
// plain mean.
func (t *Trainer) DPOStep(batch []Example, ref [][]float64, weight []float64, lr float64, h DPO) DPOStats {
	per := make([]DPOStats, len(batch))
	loss := t.step(batch, lr, func(i int, lp []float64) (float64, []float64) {
		l, margin, d := h.pair(lp, ref[i], batch[i].Answers)
		per[i] = DPOStats{Margin: margin, LogpChosen: lp[0], LogpRejected: lp[1]}
		if margin > 0 {
			per[i].Accuracy = 1
		}

		w, ftx := weight[i], h.Ftx/float64(batch[i].Answers[0].Made())

		return w * (l - ftx*lp[0]), []float64{w * (d[0] - ftx), w * d[1]}
	})

	s, n := DPOStats{Loss: loss}, float64(len(batch))
	for _, p := range per {
		s.Margin += p.Margin / n
		s.Accuracy += p.Accuracy / n
		s.LogpChosen += p.LogpChosen / n
		s.LogpRejected += p.LogpRejected / n
	}

	return s
}

// pair returns the loss of a pair without its SFT term, its margin, and the derivatives of the loss by the
// log-probabilities of the chosen and the rejected answer.
func (h DPO) pair(lp, ref []float64, answers []Choice) (loss, margin float64, d [2]float64) {
	scale := [2]float64{h.Beta, h.Beta} // dz/dlogp of either answer, without its sign
	if h.Loss == domain.LossNormalised {
		for k := range scale {
			scale[k] /= float64(answers[k].Made())
		}
	}
	up, down := lp[0]-ref[0], lp[1]-ref[1]
	margin = scale[0]*up - scale[1]*down

	if h.Loss == domain.LossIPO {
		miss := up - down - 1/(2*h.Beta)

		return miss * miss, margin, [2]float64{2 * miss, -2 * miss}
	}

	z := margin
	if h.Loss == domain.LossPositive && up < 0 {
		z += h.Beta * positiveLambda * up
		scale[0] *= 1 + positiveLambda
	}
	dz := h.Smoothing - 1/(1+math.Exp(z)) // ε·σ(z) − (1−ε)·σ(−z)

	return softplus(-z) + h.Smoothing*z, margin, [2]float64{dz * scale[0], -dz * scale[1]}
}

// softplus returns log(1 + exp x) without overflow.
func softplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
