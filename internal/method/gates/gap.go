package gates

import (
	"math"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
)

// gapLimits are the highest mean differences between log π of a trainer and of a server, in nats per token, that
// rounding explains. Engines and training libraries order their sums differently.
var gapLimits = map[domain.Precision]float64{
	domain.Exact:    1e-6,
	domain.Float32:  1e-3,
	domain.Float16:  5e-3,
	domain.BFloat16: 2e-2,
}

// GapLimit returns the highest mean of a gap that is no fault for a trainer that computes in a precision.
func GapLimit(serving spec.Serving, precision domain.Precision) float64 {
	if serving.MaxGap > 0 {
		return serving.MaxGap
	}

	return gapLimits[precision]
}

// CanaryPairs draws at most n pairs of a data set and keeps their order.
func CanaryPairs(n int, pairs []domain.Example, seed uint64) []domain.Example {
	drawn := make([]bool, len(pairs))
	for _, i := range domain.Rand(seed, "canaries").Perm(len(pairs))[:min(n, len(pairs))] {
		drawn[i] = true
	}

	var out []domain.Example
	for i, pair := range pairs {
		if drawn[i] {
			out = append(out, pair)
		}
	}

	return out
}

// Compared is log π of one answer by a trainer and by a server.
type Compared struct {
	Trainer, Server float64
	Tokens          int // of the answer
}

// Endless is the difference, in nats, of two log-probabilities one of which is not a finite number.
const Endless = 1e6

// PerToken returns the difference per token of the answer, in nats.
func (c Compared) PerToken() float64 {
	apart := math.Abs(c.Trainer-c.Server) / float64(max(1, c.Tokens))
	if math.IsNaN(apart) || apart > Endless {
		return Endless
	}

	return apart
}

// GapOf returns the gap of compared answers, and the index of the answer that is furthest apart.
func GapOf(all []Compared, limit float64) (gap domain.Gap, worst int) {
	gap = domain.Gap{Answers: len(all), Limit: limit}
	for i, compared := range all {
		apart := compared.PerToken()
		gap.Mean += apart / float64(len(all))
		if apart > gap.Worst {
			gap.Worst = apart
			worst = i
		}
	}

	return gap, worst
}
