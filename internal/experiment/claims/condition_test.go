package claims

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
)

// noise returns differences of six seeds around a mean, in points.
func noise(mean, spread float64) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]float64, 6)
	for i := range out {
		out[i] = mean + spread*r.NormFloat64()
	}

	return out
}

func TestConditionsHoldOnlyWhereTheIntervalShowsIt(t *testing.T) {
	gain, least, same, nothing := gains(3), notWorse(3), equal(3), noGain(3)
	for name, c := range map[string]struct {
		differences []float64
		holds       []*condition
	}{
		"wide noise":       {noise(0, 30), nil},
		"narrow noise":     {noise(0, 1), []*condition{least, same, nothing}},
		"a wide gain":      {noise(10, 30), nil},
		"a narrow gain":    {noise(10, 1), []*condition{gain, least}},
		"a small gain":     {noise(2.9, 0.1), []*condition{least, same, nothing}},
		"a narrow loss":    {noise(-10, 1), []*condition{nothing}},
		"exactly a margin": {[]float64{3, 3}, []*condition{gain, least}},
		"exactly a loss":   {[]float64{-3, -3}, []*condition{nothing}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, must := range []*condition{gain, least, same, nothing} {
				want := false
				for _, x := range c.holds {
					want = want || x == must
				}
				if got := test("x", c.differences, must); got.Holds != want {
					t.Errorf("%q holds on %.1f [%.1f, %.1f]: %v, want %v",
						must.needs, got.Mean, got.Low, got.High, got.Holds, want)
				}
			}
		})
	}
}

// TestWideNoiseFailsEveryClaim feeds all claims of the project with noise of 30 points over six seeds.
func TestWideNoiseFailsEveryClaim(t *testing.T) {
	var tested []Claim
	for _, x := range comparisons(spec.Default()) {
		tested = append(tested, test(x.this+" − "+x.that, noise(0, 30), x.must))
	}
	for _, x := range Experiments() {
		for _, r := range x.rows {
			tested = append(tested, test(r.name, noise(0, 30), r.must))
		}
	}

	claimed := 0
	for _, c := range tested {
		if !c.Claimed {
			continue
		}
		claimed++
		if c.Holds {
			t.Errorf("%s holds on noise [%.1f, %.1f], want a failure of %q", c.Name, c.Low, c.High, c.Needs)
		}
		if margin := strconv.FormatFloat(c.Margin, 'g', -1, 64); c.Margin <= 0 || !strings.Contains(c.Needs, margin) {
			t.Errorf("%s needs %q with the margin %v, want a margin above 0 that the words state",
				c.Name, c.Needs, c.Margin)
		}
	}
	if claimed < 7 {
		t.Errorf("%d claims were tested, want at least 7", claimed)
	}
}
