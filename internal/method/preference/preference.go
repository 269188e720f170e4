// Package preference implements the losses of preference optimisation, for the embedded trainer and for the
// measurements of every trainer's updates.
//
// It does no I/O.
package preference

import (
	"math"

	"github.com/collabui/collabui/domain"
)

// positiveLambda is the λ of domain.LossPositive.
const positiveLambda = 5

// Rule is the loss of an update: the loss named by Loss minus Ftx·log π(y⁺|x)/|y⁺|, where |y⁺| is the number of tokens
// of the chosen answer (docs/method.md).
type Rule struct {
	Loss      domain.Loss // empty means domain.LossDPO
	Beta      float64     // above 0
	Smoothing float64     // ε, at least 0 and below 0.5
	Ftx       float64     // weight of the SFT term on the chosen answer, at least 0
	Right     float64     // weight of the loss −log π(y|x) of right answers that are rows of their own, at least 0
}

// RuleOf returns the rule of a training job with the given parameters.
func RuleOf(trainParams domain.TrainParams) Rule {
	return Rule{
		Loss: trainParams.Loss, Beta: trainParams.Beta, Smoothing: trainParams.Smoothing, Ftx: trainParams.Ftx,
		Right: trainParams.SFT,
	}
}

// Answers holds a figure for the chosen and for the rejected answer of a pair, in this order.
type Answers [2]float64

// Pair returns the loss of a pair without its SFT term, its margin β·(Δ⁺ − Δ⁻), and the derivatives of the loss with
// respect to the log-probabilities of both answers. logp and ref are log π(y|x) and log π_ref(y|x), summed over tokens,
// in nats. tokens holds the lengths of the answers in tokens.
func (r Rule) Pair(logp, ref, tokens Answers) (loss, margin float64, answers Answers) {
	scale := Answers{r.Beta, r.Beta} // |dz/dlogp| of each answer
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

// SFT returns the absolute derivative of the SFT term with respect to the log-probability of a chosen answer of the
// given length in tokens.
func (r Rule) SFT(tokens float64) float64 { return r.Ftx / tokens }

// Share returns the preference term's share of a pair's gradient, from 0 to 1: the absolute derivatives of the
// preference term divided by the absolute derivatives of both terms. It is 0 if the preference term has no gradient.
func (r Rule) Share(logp, ref, tokens Answers) float64 {
	_, _, answers := r.Pair(logp, ref, tokens)
	preference := math.Abs(answers[0]) + math.Abs(answers[1])
	if preference == 0 {
		return 0
	}

	return preference / (preference + r.SFT(tokens[0]))
}
