// Package claims states the claims about the method and tests them on the results of runs over several seeds: the
// claims of the quickstart, and experiments that compare variants of one specification.
//
// It imports domain, examples, internal/method/credit, internal/method/rules, internal/method/spec,
// internal/method/stats, internal/store and internal/store/runs.
package claims

import (
	"github.com/collabui/collabui/internal/method/stats"
	"github.com/collabui/collabui/internal/store/runs"
)

// Claim is a mean difference over seeds with its t-interval at 95 %, in percentage points.
type Claim struct {
	Name    string  `json:"name"`
	Mean    float64 `json:"mean"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Margin  float64 `json:"margin,omitempty"` // of what must hold, in points
	Needs   string  `json:"needs,omitempty"`  // what must hold, in words
	Claimed bool    `json:"claimed"`          // whether anything must hold; without, the difference is only shown
	Holds   bool    `json:"holds"`
}

// Rates are the success rates of one seed, from 0 to 1. The keys say what was evaluated: the kind of system in an
// experiment, "system/split" in a reproduction.
type Rates map[string]float64

// Results are the results of one seed, under the keys of Rates.
type Results map[string]runs.Result

// Rates returns the rates of the results.
func (r Results) Rates() Rates {
	rates := Rates{}
	for key, x := range r {
		rates[key] = x.Rate
	}

	return rates
}

// Tokens are the agents' tokens per success, over all seeds. The keys are those of Rates; what has no success or no
// recorded cost is left out.
type Tokens map[string]float64

// TokensOf returns the tokens per success over seeds.
func TokensOf(seeds []Results) Tokens {
	costs, successes := map[string]runs.Cost{}, map[string]int{}
	for _, results := range seeds {
		for key, x := range results {
			costs[key] = costs[key].Plus(x.Cost)
			successes[key] += x.Successes
		}
	}

	tokens := Tokens{}
	for key, cost := range costs {
		if t, ok := cost.PerSuccess(successes[key]); ok {
			tokens[key] = t
		}
	}

	return tokens
}

// test tests a condition on one difference per seed, in points. A nil condition claims nothing.
func test(name string, differences []float64, must *condition) Claim {
	c := Claim{Name: name, Holds: true}
	c.Mean, c.Low, c.High = stats.TInterval(differences)
	if must != nil {
		c.Claimed, c.Margin, c.Needs, c.Holds = true, must.margin, must.needs, must.holds(c)
	}

	return c
}

// Verdict says what the claim needs and whether that holds. It is empty if nothing is claimed.
func (c Claim) Verdict() string {
	switch {
	case !c.Claimed:
		return ""
	case c.Holds:
		return "holds: " + c.Needs
	}

	return "FAILS: " + c.Needs
}

// Failed returns the first claim that does not hold, if there is one.
func Failed(all []Claim) (Claim, bool) {
	for _, c := range all {
		if c.Claimed && !c.Holds {
			return c, true
		}
	}

	return Claim{}, false
}
