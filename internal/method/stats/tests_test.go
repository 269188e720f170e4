package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/collabui/collabui/internal/method/stats"
)

func TestTTestAgreesWithScipy(t *testing.T) {
	for _, x := range []struct {
		name string
		in   []float64
		want float64
	}{
		{"1 to 6", []float64{1, 2, 3, 4, 5, 6}, 0.005934},
		{"-1, 2, 0.5", []float64{-1, 2, 0.5}, 0.622036},
		{"equal values", []float64{2, 2}, 0},
		{"nothing but 0", []float64{0, 0, 0}, 1},
	} {
		if got := stats.TTest(x.in); math.Abs(got-x.want) > 1e-5 {
			t.Errorf("TTest of %s = %v, want %v", x.name, got, x.want)
		}
	}
}

func TestHolmAgreesWithStatsmodels(t *testing.T) {
	// multipletests([0.01, 0.04, 0.03, 0.005], method="holm")
	got, want := stats.Holm([]float64{0.01, 0.04, 0.03, 0.005}), []float64{0.03, 0.06, 0.06, 0.02}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12 {
			t.Errorf("Holm = %v, want %v", got, want)
		}
	}
	if got := stats.Holm([]float64{0.9, 0.8}); got[0] != 1 || got[1] != 1 {
		t.Errorf("Holm of large values = %v, want 1", got)
	}
}

func TestPowerAgreesWithScipy(t *testing.T) {
	// 1 - nct.cdf(t.ppf(0.975, n-1), n-1, mean/sd*sqrt(n))
	for _, x := range []struct {
		mean, sd float64
		n        int
		want     float64
	}{{5, 4, 6, 0.689271}, {3, 4, 10, 0.561934}, {0, 1, 6, 0.025}, {8, 2, 4, 0.998298}} {
		if got := stats.Power(x.mean, x.sd, x.n); math.Abs(got-x.want) > 1e-4 {
			t.Errorf("Power(%v, %v, %d) = %.4f, want %.4f", x.mean, x.sd, x.n, got, x.want)
		}
	}
}

// TestTheTwoWayIntervalSeesClusters checks that values that are equal within a cluster do not count as independent.
func TestTheTwoWayIntervalSeesClusters(t *testing.T) {
	width := func(seed, template, noise float64) float64 {
		r := rand.New(rand.NewPCG(1, 2))
		values, of := make([][][]float64, 8), make([]float64, 12)
		for b := range of {
			of[b] = template * r.NormFloat64()
		}
		for a := range values {
			own := seed * r.NormFloat64()
			for b := range of {
				var x []float64
				for range 20 {
					x = append(x, own+of[b]+noise*r.NormFloat64())
				}
				values[a] = append(values[a], x)
			}
		}
		_, low, high := stats.TwoWay(values)

		return high - low
	}
	one, seeds, templates := width(0, 0, 1), width(1, 0, 1), width(0, 1, 1)
	if one > 0.3 || seeds < 3*one || templates < 3*one {
		t.Errorf("widths are %.2f without clusters, %.2f with seeds and %.2f with templates, want the last two wider",
			one, seeds, templates)
	}
}
