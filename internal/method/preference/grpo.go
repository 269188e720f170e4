package preference

import "math"

// Gradient is the loss of GRPO (docs/method.md, Policy gradient).
type Gradient struct {
	Clip float64 // ε, above 0
	KL   float64 // weight of the divergence from the reference, at least 0
}

// Sample returns the loss of an answer with advantage A, and the derivative of the loss with respect to log π(y|x):
//
//	−min(ρ·A, clip(ρ, 1−ε, 1+ε)·A) + KL·(exp δ − δ − 1),  ρ = π/π_old,  δ = log π_ref − log π
//
// (Shao et al., "DeepSeekMath", 2024, equations 3 and 4). An answer counts as one action: ρ and δ are ratios of the
// probabilities of the whole answer, not of single tokens. logp, old and ref are its log-probabilities under π, π_old
// and π_ref, summed over tokens, in nats.
func (g Gradient) Sample(logp, old, ref, advantage float64) (loss, d float64) {
	ratio := math.Exp(logp - old)
	gain := ratio * advantage
	if bounded := math.Max(1-g.Clip, math.Min(1+g.Clip, ratio)) * advantage; bounded < gain {
		loss = -bounded // the gain has reached its bound, so its derivative is 0
	} else {
		loss = -gain
		d = -gain
	}

	delta := ref - logp

	return loss + g.KL*(math.Exp(delta)-delta-1), d + g.KL*(1-math.Exp(delta))
}
