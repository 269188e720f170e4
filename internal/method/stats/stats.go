// Package stats computes the statistics in which results are reported: means, intervals over seeds, the Wilson interval
// of a rate, and the bootstrap of a metric over tasks. All intervals are at 95 %, and equal input gives equal bits.
//
// It does no I/O.
package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/collabui/collabui/domain"
)

// Wilson returns the score interval (Wilson 1927) for k successes in n > 0 trials, from 0 to 1.
func Wilson(k, n int) (low, high float64) {
	const z = 1.959963984540054
	p := float64(k) / float64(n)
	m := float64(n)
	mid := p + z*z/(2*m)
	half := z * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))

	return math.Max(0, (mid-half)/(1+z*z/m)), math.Min(1, (mid+half)/(1+z*z/m))
}

// Mean returns the mean of the values, or 0 if x is empty.
func Mean(x []float64) float64 {
	mean := 0.0
	count := float64(len(x))
	for _, v := range x {
		mean += v / count
	}

	return mean
}

// StandardError returns the standard error of the mean of at least two values.
func StandardError(x []float64) float64 {
	mean := Mean(x)
	count := float64(len(x))
	squares := 0.0
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}

	return math.Sqrt(squares / (count - 1) / count)
}

// TInterval returns the mean of at least two values and its interval by Student's t-distribution.
func TInterval(x []float64) (mean, low, high float64) {
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(x) - 1)}.Quantile(0.975)
	mean = Mean(x)
	half := t * StandardError(x)

	return mean, mean - half, mean + half
}

// Micro returns the mean of a metric over all steps of all tasks. At least one step must count.
func Micro(tasks []domain.Metric) float64 {
	sum := 0.0
	n := 0
	for _, metric := range tasks {
		sum += metric.Sum
		n += metric.N
	}

	return sum / float64(n)
}

// Macro returns the mean over tasks of each task's mean. Every task must have at least one step that counts.
func Macro(tasks []domain.Metric) float64 {
	macro := 0.0
	for _, metric := range tasks {
		macro += metric.Sum / float64(metric.N) / float64(len(tasks))
	}

	return macro
}

// resamples is the number of samples that the bootstrap draws.
const resamples = 2000

// Bootstrap returns the percentile interval of Micro if tasks are drawn with replacement. The draws have a fixed seed.
func Bootstrap(tasks []domain.Metric) (low, high float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	draws := make([]float64, resamples)
	sample := make([]domain.Metric, len(tasks))
	for i := range draws {
		for j := range sample {
			sample[j] = tasks[rng.IntN(len(tasks))]
		}
		draws[i] = Micro(sample)
	}
	slices.Sort(draws)

	return percentile(draws, 0.025), percentile(draws, 0.975)
}

// percentile returns the quantile of sorted draws at p, from 0 to 1.
func percentile(draws []float64, p float64) float64 {
	return draws[int(math.Round(p*float64(len(draws)-1)))]
}

// SignTest returns the p-value of the one-sided sign test of paired outcomes, of which a got worse and b got better:
// the probability that at least a of a+b fair coins fall on one given side.
func SignTest(a, b int) float64 {
	n := a + b
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	p := 0.0
	for k := a; k <= n; k++ {
		p += math.Exp(lg(n) - lg(k) - lg(n-k) - float64(n)*math.Ln2)
	}

	return min(p, 1)
}
