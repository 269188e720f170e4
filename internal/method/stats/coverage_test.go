package stats_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/collabui/collabui/internal/method/stats"
)

var simulations = flag.Int("simulations", 300, "of every design, by TestIntervalsCover")

// world describes a paired difference in success between two systems: its mean, its variation between seeds, between
// templates and between cells of both, all on the scale of rates, and the success rate of the weaker system.
type world struct{ mean, seed, template, both, rate float64 }

// draw returns the differences of a design, in points, by seed and template. Both systems play the same episodes, so
// common luck decides most of them.
func (w world) draw(r *rand.Rand, seeds, templates, episodes int) (cells [][][]float64, bySeed []float64) {
	of := make([]float64, templates)
	for b := range of {
		of[b] = w.template * r.NormFloat64()
	}
	cells = make([][][]float64, seeds)
	for a := range cells {
		own, sum := w.seed*r.NormFloat64(), 0.0
		cells[a] = make([][]float64, templates)
		for i := range episodes {
			b := i % templates
			if i < templates {
				cells[a][b] = nil
			}
			gain := w.mean + own + of[b] + w.both*r.NormFloat64()/3
			luck := r.Float64()
			d := 0.0
			if luck < w.rate+gain {
				d += 100
			}
			if luck < w.rate {
				d -= 100
			}
			cells[a][b] = append(cells[a][b], d)
			sum += d / float64(episodes)
		}
		bySeed = append(bySeed, sum)
	}

	return cells, bySeed
}

// TestIntervalsCover simulates experiments whose true difference is known, and counts how often the intervals contain
// it: Student's interval over seeds for the given templates, and the two-way interval for all seeds and templates that
// could have been drawn. With -args -simulations 5000, it makes the table of docs/results/intervals.md.
func TestIntervalsCover(t *testing.T) {
	for _, c := range []struct {
		name                       string
		seeds, templates, episodes int
		world
		student bool // whether Student's interval must cover, as it does if templates do not vary
		wide    bool // whether the two-way interval must cover, as it does with at least three seeds
	}{
		{"6 seeds, 34 templates, 250 episodes", 6, 34, 250, world{0.1, 0.05, 0, 0, 0.4}, true, true},
		{"the same, templates vary", 6, 34, 250, world{0.1, 0.05, 0.1, 0.1, 0.4}, false, true},
		{"6 seeds, 12 templates, 250 episodes, vary", 6, 12, 250, world{0.1, 0.05, 0.1, 0.1, 0.4}, false, true},
		{"10 seeds, 34 templates, 600 episodes", 10, 34, 600, world{0.02, 0.03, 0, 0, 0.6}, true, true},
		{"10 seeds, 34 templates, 250 episodes", 10, 34, 250, world{0.05, 0.05, 0, 0, 0.6}, true, true},
		{"10 seeds, 34 templates, 250 episodes, vary", 10, 34, 250, world{0.05, 0.05, 0.1, 0.1, 0.6}, false, true},
		{"6 seeds, 6 templates, 120 episodes, vary", 6, 6, 120, world{0.1, 0.05, 0.1, 0.1, 0.4}, false, true},
		{"4 seeds, 34 templates, 200 episodes, vary", 4, 34, 200, world{0.1, 0.05, 0.1, 0.1, 0.4}, false, true},
		{"3 seeds, 34 templates, 150 episodes", 3, 34, 150, world{0.2, 0.1, 0, 0, 0.3}, true, true},
		{"2 seeds, 34 templates, 100 episodes", 2, 34, 100, world{0.2, 0.1, 0, 0, 0.3}, true, false},
	} {
		r := rand.New(rand.NewPCG(7, 8))
		truth, student, crossed := 100*c.mean, 0, 0
		for range *simulations {
			cells, bySeed := c.draw(r, c.seeds, c.templates, c.episodes)
			if _, low, high := stats.TInterval(bySeed); low <= truth && truth <= high {
				student++
			}
			if _, low, high := stats.TwoWay(cells); low <= truth && truth <= high {
				crossed++
			}
		}
		n := float64(*simulations)
		a, b := float64(student)/n, float64(crossed)/n
		t.Logf("%-44s Student %.1f %%, two-way %.1f %%", c.name, 100*a, 100*b)
		noise := 3*math.Sqrt(0.05*0.95/n) + 0.01
		if c.student && math.Abs(a-0.95) > noise {
			t.Errorf("%s: Student's interval covers %.3f, want 0.95", c.name, a)
		}
		if c.wide && math.Abs(b-0.95) > noise {
			t.Errorf("%s: the two-way interval covers %.3f, want 0.95", c.name, b)
		}
	}
}
