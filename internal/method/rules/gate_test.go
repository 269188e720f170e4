package rules_test

import (
	"math"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
)

func TestAFallOnValKeepsTheSystemThatRolledOut(t *testing.T) {
	for name, c := range map[string]struct {
		drop, val, parent float64
		want              string
	}{
		"better":                 {0, 0.6, 0.5, ""},
		"equal":                  {0, 0.5, 0.5, ""},
		"worse":                  {0, 0.45, 0.5, "val fell from 50.0 % to 45.0 %"},
		"within the allowance":   {0.1, 0.45, 0.5, ""},
		"by the allowance":       {0.05, 0.5, 0.55, ""},
		"the gate is turned off": {1, 0, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rules.Rollback(spec.Gates{MaxValDrop: c.drop}, c.val, c.parent); got != c.want {
				t.Errorf("Rollback(%v, %v) = %q, want %q", c.val, c.parent, got, c.want)
			}
		})
	}
}

func TestABreachOfAnyGateSaysWhy(t *testing.T) {
	pairs := []domain.Example{
		{Chosen: `Reason: r Action: {"action_type":"click","index":1}`},
		{Chosen: `Reason: r Action: {"action_type":"click","index":2}`},
	}
	gates := spec.Default().Gates
	gates.MinEntropy = 0.1
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
			if got := rules.UpdateGate(gates, p, pairs); !strings.Contains(got, c.want) ||
				(got == "") != (c.want == "") {
				t.Errorf("Gate(%+v) = %q, want %q", p, got, c.want)
			}
		})
	}
}
