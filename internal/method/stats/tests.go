package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// TTest returns the two-sided p-value of Student's t-test that the mean of at least two values is 0.
func TTest(x []float64) float64 {
	se := StandardError(x)
	if se == 0 {
		if Mean(x) == 0 {
			return 1
		}

		return 0
	}

	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(x) - 1)}.CDF(-math.Abs(Mean(x)/se))
}

// Holm returns p-values that are adjusted for their number by Holm's step-down method (Holm 1979), in the same order.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}

		return 0
	})

	out, least := make([]float64, len(p)), 0.0
	for k, i := range order {
		least = max(least, min(1, float64(len(p)-k)*p[i]))
		out[i] = least
	}

	return out
}

// Power returns the probability that the lower bound of the interval at 95 % of n ≥ 2 normal values with this mean and
// standard deviation is above 0: that of a noncentral t above its critical value.
func Power(mean, sd float64, n int) float64 {
	nu, shift := float64(n-1), mean/sd*math.Sqrt(float64(n))
	critical := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: nu}.Quantile(0.975)
	normal, chi := distuv.UnitNormal, distuv.ChiSquared{K: nu}

	const points = 2000 // of the midpoint rule over the quantiles of the sample variance
	power := 0.0
	for k := range points {
		q := chi.Quantile((float64(k) + 0.5) / points)
		power += normal.CDF(shift-critical*math.Sqrt(q/nu)) / points
	}

	return power
}

// Crossed returns the interval at 95 % of the mean of values that were measured in clusters of two kinds, such as seeds
// and templates: both are drawn with replacement (the pigeonhole bootstrap of Owen 2007). Values are by cluster of the
// first kind, then by that of the second; both must have at least one. The draws are fixed.
func Crossed(values [][][]float64) (low, high float64) {
	rng := rand.New(rand.NewPCG(3, 4))
	draws := make([]float64, resamples)
	for i := range draws {
		first, second := weights(rng, len(values)), weights(rng, len(values[0]))
		sum, n := 0.0, 0.0
		for a, of := range values {
			for b, x := range of {
				w := first[a] * second[b]
				for _, v := range x {
					sum, n = sum+w*v, n+w
				}
			}
		}
		if draws[i] = 0; n > 0 {
			draws[i] = sum / n
		}
	}
	slices.Sort(draws)

	return percentile(draws, 0.025), percentile(draws, 0.975)
}

// weights returns how often each of n clusters is drawn in n draws.
func weights(rng *rand.Rand, n int) []float64 {
	w := make([]float64, n)
	for range n {
		w[rng.IntN(n)]++
	}

	return w
}

// percentile returns a quantile of sorted draws.
func percentile(draws []float64, p float64) float64 {
	return draws[int(math.Round(p*float64(len(draws)-1)))]
}
