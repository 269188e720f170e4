package spec

import "fmt"

// Evaluation specifies what is evaluated. Its seed is never derived from the run's seed, so systems can be compared
// episode by episode.
type Evaluation struct {
	Seed          uint64 `json:"seed"`
	Val           int    `json:"val"` // number of episodes
	TestSeeds     int    `json:"test_seeds"`
	TestTemplates int    `json:"test_templates"`
	TestApps      int    `json:"test_apps"` // played only in environments that have the split
	Every         int    `json:"every"`     // epochs between evaluations on val
	Base          bool   `json:"base"`      // whether the base systems also play at the end

	// OutOfDistribution lists what the base and the best system play at the end, in addition to the run's own
	// environment.
	OutOfDistribution []Elsewhere `json:"out_of_distribution,omitempty"`
}

// Elsewhere specifies an evaluation on another environment.
type Elsewhere struct {
	Environment string `json:"environment"` // a suite, or a name under environments
	Split       string `json:"split"`
	Episodes    int    `json:"episodes"` // 0 means every template once
}

// elsewhereField returns the name of the field of evaluation i on another environment.
func elsewhereField(i int) string { return fmt.Sprintf("evaluation.out_of_distribution[%d]", i) }

// WithoutTests returns the evaluation without its test splits.
func (e Evaluation) WithoutTests() Evaluation {
	e.TestSeeds = 0
	e.TestTemplates = 0
	e.TestApps = 0

	return e
}

func (e Evaluation) check(must Must) {
	must.count(e.Val, "evaluation.val", 1, 9999)
	must.count(e.TestSeeds, "evaluation.test_seeds", 0, 9999)
	must.count(e.TestTemplates, "evaluation.test_templates", 0, 9999)
	must.count(e.TestApps, "evaluation.test_apps", 0, 9999)
	must.count(e.Every, "evaluation.every", 1, 1000)

	for i, x := range e.OutOfDistribution {
		must(x.Split != "", elsewhereField(i)+".split", "the name of a split; `collabui envs list` shows them")
		must(x.Episodes >= 0 && x.Episodes <= 9999, elsewhereField(i)+".episodes",
			"a whole number from 0 (every template once) to 9999, not %d", x.Episodes)
		for _, y := range e.OutOfDistribution[:i] {
			must(x.Environment != y.Environment || x.Split != y.Split, elsewhereField(i),
				"each environment and split once")
		}
	}
}
