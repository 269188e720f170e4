package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// TTest returns the two-sided p-value of Student's t-test of the hypothesis that the mean of at least two values is 0.
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

// Holm returns the p-values adjusted for their number by Holm's step-down method (Holm 1979), in the same order.
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

	out := make([]float64, len(p))
	least := 0.0
	for k, i := range order {
		least = max(least, min(1, float64(len(p)-k)*p[i]))
		out[i] = least
	}

	return out
}

// Power returns the probability that the lower bound of the 95 % interval of the mean of n ≥ 2 normal values with this
// mean and standard deviation is above 0, which is the probability that a noncentral t exceeds the critical value.
func Power(mean, sd float64, n int) float64 {
	nu := float64(n - 1)
	shift := mean / sd * math.Sqrt(float64(n))
	critical := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: nu}.Quantile(0.975)
	normal := distuv.UnitNormal
	chi := distuv.ChiSquared{K: nu}

	const points = 2000 // of the midpoint rule over the quantiles of the sample variance
	power := 0.0
	for k := range points {
		q := chi.Quantile((float64(k) + 0.5) / points)
		power += normal.CDF(shift-critical*math.Sqrt(q/nu)) / points
	}

	return power
}

// TwoWay returns the mean of values that were measured in clusters of two kinds, such as seeds and templates, and its
// 95 % interval for the case that both kinds of clusters were drawn. The variance is the one of Cameron, Gelbach and
// Miller (2011): the variances of the sums over the clusters of either kind minus the variance of the sums over the
// cells, each with the small-sample factor G/(G − 1). The degrees of freedom are Satterthwaite's. values is indexed by
// the cluster of the first kind, the cluster of the second kind, and the value within the cell. There must be at least
// two clusters of each kind.
func TwoWay(values [][][]float64) (mean, low, high float64) {
	count := 0.0
	firsts := len(values)
	seconds := len(values[0])
	for _, of := range values {
		for _, x := range of {
			for _, v := range x {
				mean += v
				count++
			}
		}
	}
	mean /= max(count, 1)

	first := make([]float64, firsts)
	second := make([]float64, seconds)
	cells := 0.0
	g := 0.0
	for a, of := range values {
		for b, x := range of {
			rest := 0.0
			for _, v := range x {
				rest += v - mean
			}
			first[a] += rest
			second[b] += rest
			cells = cells + rest*rest
			if len(x) > 0 {
				g++
			}
		}
	}
	variance := func(sums []float64) float64 {
		all := 0.0
		g := float64(len(sums))
		for _, s := range sums {
			all += s * s
		}

		return all / (count * count) * g / (g - 1)
	}
	one := variance(first)
	two := variance(second)
	v := max(one+two-cells/(count*count)*g/(g-1), one, two)
	if v == 0 {
		return mean, mean, mean
	}
	df := v * v / (one*one/float64(firsts-1) + two*two/float64(seconds-1))
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: max(1, df)}.Quantile(0.975) * math.Sqrt(v)

	return mean, mean - half, mean + half
}
