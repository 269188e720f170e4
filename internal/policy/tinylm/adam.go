package tinylm

import "math"

// Adam is AdamW (Loshchilov & Hutter, "Decoupled Weight Decay Regularization", 2019, algorithm 2) with β = (0.9, 0.98)
// and the gradient clipped to norm 1. Unlike AdamW, it neither changes nor decays parameters whose first moment is
// 0, such as the embeddings of words that no batch has contained. The zero value is a new optimiser.
type Adam struct {
	M, V        []float32 // first and second moments, one for every parameter
	T           int       // number of steps made
	WeightDecay float64
}

const (
	beta1, beta2 = 0.9, 0.98
	adamEps      = 1e-8
	clipNorm     = 1.0
)

// step updates the parameters w by the gradient g:
//
//	m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²
//	w ← (1 − lr·decay)·w − lr·m̂ / (√v̂ + ε)
//
// with m̂ = m/(1−β₁ᵗ) and v̂ = v/(1−β₂ᵗ).
func (o *Adam) step(w, g []float32, lr float64) {
	if o.M == nil {
		o.M = make([]float32, len(w))
		o.V = make([]float32, len(w))
	}

	o.T++

	var ss float64
	for _, x := range g {
		ss += float64(x) * float64(x)
	}

	scale := float32(1)
	if count := math.Sqrt(ss); count > clipNorm {
		scale = float32(clipNorm / count)
	}

	adam(w, g, o.M, o.V, adamRates{
		scale: scale,
		decay: float32(1 - lr*o.WeightDecay),
		c1:    float32(lr / (1 - math.Pow(beta1, float64(o.T)))),
		c2:    float32(1 / (1 - math.Pow(beta2, float64(o.T)))),
	})
}

// adamRates holds the factors of a step: of the gradient, of the parameters, lr/(1−β₁ᵗ) and 1/(1−β₂ᵗ).
type adamRates struct{ scale, decay, c1, c2 float32 }

func sqrt32(x float32) float32 { return float32(math.Sqrt(float64(x))) }
