package gates_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/gates"
	"github.com/collabui/collabui/internal/method/spec"
)

// paired returns n episodes of val of which lost were solved by the parent alone and won by the new system alone.
func paired(lost, won, n int) []gates.PairedVal {
	out := make([]gates.PairedVal, n)
	for i := range out {
		switch {
		case i < lost:
			out[i].Parent = 1
		case i < lost+won:
			out[i].New = 1
		case i%2 == 0:
			out[i] = gates.PairedVal{Parent: 1, New: 1}
		}
	}

	return out
}

func TestOnlyACertainFallOnValKeepsTheParent(t *testing.T) {
	for name, c := range map[string]struct {
		drop  float64
		pairs []gates.PairedVal
		want  string
	}{
		"better":                   {0, paired(5, 15, 100), ""},
		"equal":                    {0, paired(8, 8, 100), ""},
		"a fall that may be noise": {0, paired(10, 5, 100), ""},
		"a certain fall": {
			0, paired(14, 2, 100), "val fell from 56.0 % to 44.0 %: -12.0 [-19.6, -4.4] points on 100 episodes",
		},
		"within the allowance":   {0.05, paired(14, 2, 100), ""},
		"beyond the allowance":   {0.05, paired(24, 2, 100), "val fell from"},
		"in every episode":       {0, paired(6, 0, 6), "val fell from 100.0 % to 0.0 %"},
		"the gate is turned off": {1, paired(6, 0, 6), ""},
		"one episode":            {0, paired(1, 0, 1), ""},
		"no episode":             {0, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := gates.Rollback(spec.Gates{MaxValDrop: c.drop}, c.pairs)
			if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("Rollback = %q, want %q", got, c.want)
			}
		})
	}
}

func TestAnOutcomeOnValIsASuccessOrAShareOfRightSteps(t *testing.T) {
	recorded := func(sum float64, n int) domain.Outcome {
		return domain.Outcome{Metrics: map[string]domain.Metric{envadapters.StepSR: {Sum: sum, N: n}}}
	}
	for name, c := range map[string]struct {
		outcome domain.Outcome
		want    float64
		ok      bool
	}{
		"success":         {domain.Outcome{Success: true}, 1, true},
		"failure":         {domain.Outcome{}, 0, true},
		"void":            {domain.Outcome{Void: "the browser died"}, 0, false},
		"recorded":        {recorded(3, 4), 0.75, true},
		"no counted step": {recorded(0, 0), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := gates.ValOutcome(c.outcome); got != c.want || ok != c.ok {
				t.Errorf("ValOutcome = %v, %v; want %v, %v", got, ok, c.want, c.ok)
			}
		})
	}
}

// TestWhatRollbackDiscards simulates epochs: 100 episodes of val, in 15 of which, on average, only one of the systems
// succeeds. docs/decisions/0022-one-probe-for-every-trainer.md has its figures.
func TestWhatRollbackDiscards(t *testing.T) {
	const epochs = 4000
	const episodes = 100
	const discordance = 0.15
	for _, c := range []struct {
		gain             float64 // true difference of the rates
		byRate, byPaired [2]float64
	}{
		{gain: 0.02, byRate: [2]float64{0.24, 0.30}, byPaired: [2]float64{0, 0.02}},
		{gain: 0, byRate: [2]float64{0.42, 0.48}, byPaired: [2]float64{0.01, 0.05}},
		{gain: -0.05, byRate: [2]float64{0.85, 0.92}, byPaired: [2]float64{0.2, 0.32}},
		{gain: -0.1, byRate: [2]float64{0.98, 1}, byPaired: [2]float64{0.72, 0.86}},
	} {
		random := rand.New(rand.NewPCG(1, 2))
		fell := 0
		rolledBack := 0
		for range epochs {
			pairs := make([]gates.PairedVal, episodes)
			difference := 0.0
			for i := range pairs {
				switch u := random.Float64(); {
				case u < (discordance-c.gain)/2:
					pairs[i].Parent = 1
				case u < discordance:
					pairs[i].New = 1
				}
				difference += pairs[i].New - pairs[i].Parent
			}
			if difference < 0 {
				fell++
			}
			if gates.Rollback(spec.Gates{}, pairs) != "" {
				rolledBack++
			}
		}

		rate := float64(fell) / epochs
		share := float64(rolledBack) / epochs
		t.Logf("gain %+.2f: %.3f fall by their rate, %.3f are rolled back", c.gain, rate, share)
		if rate < c.byRate[0] || rate > c.byRate[1] {
			t.Errorf("gain %+.2f: the rate of %.3f of epochs falls, want %v", c.gain, rate, c.byRate)
		}
		if share < c.byPaired[0] || share > c.byPaired[1] {
			t.Errorf("gain %+.2f: %.3f of epochs are rolled back, want %v", c.gain, share, c.byPaired)
		}
	}
}

func TestABreachOfAnyGateSaysWhy(t *testing.T) {
	pairs := []domain.Example{
		{Chosen: `Reason: r Action: {"action_type":"click","index":1}`},
		{Chosen: `Reason: r Action: {"action_type":"click","index":2}`},
	}
	limits := spec.Default().Gates
	limits.MinEntropy = 0.1
	fell, rose := domain.LogProbs{Policy: -1.5, Parent: -1}, domain.LogProbs{Policy: -1, Parent: -1.5}

	for _, c := range []struct {
		name, want string
		change     func(*domain.Probe)
	}{
		{"nothing", "", func(*domain.Probe) {}},
		{"KL", "KL to the parent 9.00", func(p *domain.Probe) { p.KL = 9 }},
		{"log-probability", "chosen answers changed by -3", func(p *domain.Probe) { p.LogprobDelta = -3 }},
		{"parse rate", "only 94 % of sampled answers parse, below 95 %", func(p *domain.Probe) { p.ParseRate = 0.94 }},
		{"length", "have 500 characters", func(p *domain.Probe) { p.Length = 500 }},
		{"entropy", "entropy 0.010", func(p *domain.Probe) { p.Entropy = 0.01 }},
		{"a vanished type", "scroll vanished: it is 3 % of the chosen answers, none of 8 sampled ones, " +
			"and their log-probability fell from -1.00 to -1.50",
			func(p *domain.Probe) { p.ByType["scroll"] = domain.ProbeType{Share: 0.03, Prompts: 8, Chosen: fell} }},
		{"a type that is seldom sampled but more likely than before", "", func(p *domain.Probe) {
			p.ByType["scroll"] = domain.ProbeType{Share: 0.1, Prompts: 8, Chosen: rose}
		}},
		{"a type that is sampled although it is less likely", "", func(p *domain.Probe) {
			p.ByType["scroll"] = domain.ProbeType{Share: 0.1, Prompts: 8, Sampled: 1, Chosen: fell}
		}},
		{"a type below the share", "",
			func(p *domain.Probe) { p.ByType["scroll"] = domain.ProbeType{Share: 0.02, Prompts: 1, Chosen: fell} }},
		{"not a number", "not numbers", func(p *domain.Probe) { p.KLBase = math.NaN() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := domain.Probe{KL: 1, ParseRate: 0.95, Length: 50, Entropy: 0.5, ByType: map[string]domain.ProbeType{}}
			c.change(&p)
			if got := gates.Update(limits, p, pairs); !strings.Contains(got, c.want) ||
				(got == "") != (c.want == "") {
				t.Errorf("Gate(%+v) = %q, want %q", p, got, c.want)
			}
		})
	}
}
