// Package preference has the losses of preference optimisation, for the embedded trainer and for what is measured of
// every trainer's updates.
//
// It does no I/O.
package preference

import (
	"math"

	"github.com/collabui/collabui/domain"
)

// positiveLambda is λ of domain.LossPositive.
const positiveLambda = 5

// Rule is the loss of an update: that of Loss minus Ftx·log π(y⁺|x)/|y⁺|, with the number of tokens |y⁺| of the chosen
// answer (docs/method.md).
type Rule struct {
	Loss      domain.Loss // empty: domain.LossDPO
	Beta      float64     // above 0
	Smoothing float64     // ε, from 0 to below 0.5
	Ftx       float64     // at least 0: the weight of the SFT term on the chosen answer
}

// RuleOf returns the rule of a training job.
func RuleOf(trainParams domain.TrainParams) Rule {
	return Rule{Loss: trainParams.Loss, Beta: trainParams.Beta, Smoothing: trainParams.Smoothing, Ftx: trainParams.Ftx}
}

// Answers holds a figure of the chosen and of the rejected answer of a pair, in this order.
type Answers [2]float64

// Pair returns the loss of a pair without its SFT term, its margin β·(Δ⁺ − Δ⁻), and the derivatives of the loss by the
// log-probabilities of both answers. logp and ref are log π(y|x) and log π_ref(y|x), summed over tokens, in nats;
// tokens are the lengths of the answers.
func (r Rule) Pair(logp, ref, tokens Answers) (loss, margin float64, answers Answers) {
	scale := Answers{r.Beta, r.Beta} // dz/dlogp of either answer, without its sign
	if r.Loss == domain.LossNormalised {
		scale[0] /= tokens[0]
		scale[1] /= tokens[1]
	}
	up := logp[0] - ref[0]
	down := logp[1] - ref[1]
	margin = scale[0]*up - scale[1]*down

	if r.Loss == domain.LossIPO {
		miss := up - down - 1/(2*r.Beta)

		return miss * miss, margin, Answers{2 * miss, -2 * miss}
	}

	z := margin
	if r.Loss == domain.LossPositive && up < 0 {
		z += r.Beta * positiveLambda * up
		scale[0] *= 1 + positiveLambda
	}
	dz := r.Smoothing - 1/(1+math.Exp(z)) // ε·σ(z) − (1−ε)·σ(−z)

	return softplus(-z) + r.Smoothing*z, margin, Answers{dz * scale[0], -dz * scale[1]}
}

// softplus returns log(1 + exp x) without overflow.
func softplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// SFT returns the derivative of the SFT term by the log-probability of a chosen answer of so many tokens, without its
// sign.
func (r Rule) SFT(tokens float64) float64 { return r.Ftx / tokens }

// Share returns how much of a pair's pull on the log-probabilities of its answers is the preference term's, from 0 to
// 1: the absolute derivatives of that term over those of both terms. It is 0 if nothing pulls.
func (r Rule) Share(logp, ref, tokens Answers) float64 {
	_, _, answers := r.Pair(logp, ref, tokens)
	preference := math.Abs(answers[0]) + math.Abs(answers[1])
	if preference == 0 {
		return 0
	}

	return preference / (preference + r.SFT(tokens[0]))
}
