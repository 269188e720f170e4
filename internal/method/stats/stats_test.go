package stats_test

import (
	"math"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/stats"
)

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

func TestTIntervalAgreesWithR(t *testing.T) {
	for _, c := range []struct {
		name            string
		in              []float64
		mean, low, high float64
	}{
		{"t.test(1:6)", []float64{1, 2, 3, 4, 5, 6}, 3.5, 1.536686, 5.463314},
		{"t.test(c(1,2))", []float64{1, 2}, 1.5, -4.853102, 7.853102},
	} {
		t.Run(c.name, func(t *testing.T) {
			mean, low, high := stats.TInterval(c.in)
			if !near(mean, c.mean, 1e-6) || !near(low, c.low, 1e-5) || !near(high, c.high, 1e-5) {
				t.Errorf("TInterval(%v) = %v, %v, %v; want %v, %v, %v", c.in, mean, low, high, c.mean, c.low, c.high)
			}
		})
	}
}

func TestWilsonStaysBetweenZeroAndOne(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 10, 0, 0.277533},
		{5, 10, 0.236593, 0.763407},
		{10, 10, 0.722467, 1},
	} {
		low, high := stats.Wilson(c.k, c.n)
		if !near(low, c.low, 1e-6) || !near(high, c.high, 1e-6) {
			t.Errorf("Wilson(%d, %d) = %v, %v; want %v, %v", c.k, c.n, low, high, c.low, c.high)
		}
	}
}

func TestTheBootstrapIsFixedAndCoversTheMean(t *testing.T) {
	var tasks []domain.Metric
	for i := range 40 {
		tasks = append(tasks, domain.Metric{Sum: float64(i % 2), N: 1})
	}
	low, high := stats.Bootstrap(tasks)
	if mean := stats.Micro(tasks); low >= mean || high <= mean {
		t.Errorf("Bootstrap = %v to %v, want an interval around %v", low, high, mean)
	}
	if again, _ := stats.Bootstrap(tasks); again != low {
		t.Errorf("a second Bootstrap begins at %v, want %v", again, low)
	}
	if got := stats.Macro([]domain.Metric{{Sum: 1, N: 1}, {Sum: 0, N: 9}}); got != 0.5 {
		t.Errorf("Macro = %v, want 0.5", got)
	}
}

func TestSignTestIsTheTailOfFairCoins(t *testing.T) {
	for _, x := range []struct {
		a, b int
		want float64
	}{{0, 0, 1}, {0, 5, 1}, {5, 0, 1.0 / 32}, {3, 1, 5.0 / 16}, {8, 0, 1.0 / 256}, {1, 1, 0.75}} {
		if got := stats.SignTest(x.a, x.b); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("SignTest(%d, %d) = %v, want %v", x.a, x.b, got, x.want)
		}
	}
}
