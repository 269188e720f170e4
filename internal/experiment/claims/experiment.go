package claims

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/examples"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
)

// Experiment compares variants of one specification, its arms, over seeds. All arms of a seed play the same evaluation
// episodes.
type Experiment struct {
	About  string
	Shared bool // the later arms of a seed begin with the base policy of its first
	Arms   []Arm

	file  string // specification file, relative to examples
	raw   []byte // content of the file
	split string // split on which systems are compared, unless a row names another
	rows  []row
}

// Arm is one variant of the specification.
type Arm struct {
	Name   string
	change func(s *spec.Spec, episodes int)
}

// row is a line of the table: the difference between two rates, each of an arm, by its index.
type row struct {
	name       string
	this, that string // kinds of systems
	split      string // empty: the experiment's
	of, minus  int    // arms
	must       *condition
}

// Kinds of systems, under which an experiment compares them: their names hold the number of agents.
const (
	kindSingle  = "base-1"
	kindBase    = "base"
	kindTrained = "trained"
)

// Experiments returns all experiments by their names.
func Experiments() map[string]Experiment {
	return map[string]Experiment{
		"critic-noise": criticNoise(), "curriculum": curriculum(), "preference": preference(), "update": update(),
	}
}

// criticNoise trains with critics that err at random.
func criticNoise() Experiment {
	x := Experiment{
		About: "what the loop gains from a critic that errs", Shared: true,
		file: "quickstart.yaml", raw: examples.Quickstart, split: domain.SplitTestSeeds,
	}
	for i, rate := range []float64{0, 0.05, 0.15, 0.3, 0.5} {
		x.Arms = append(x.Arms, Arm{Name: fmt.Sprintf("e%02.0f", 100*rate), change: func(s *spec.Spec, n int) {
			s.Critic.Error, s.Evaluation = rate, s.Evaluation.WithoutTests()
			s.Evaluation.TestSeeds = n
		}})
		r := row{this: kindTrained, that: kindBase, of: i, minus: i}
		r.name = fmt.Sprintf("critic errs %2.0f %%", 100*rate)
		if rate == 0.5 {
			r.name, r.must = "critic is pure noise", noGain(5)
		}
		x.rows = append(x.rows, r)
	}

	return x
}

// curriculum compares stage 1 with levels and with demonstrations only.
func curriculum() Experiment {
	return Experiment{
		About: "stage 1 with levels against demonstrations only, at equal optimiser steps",
		file:  "curriculum.yaml", raw: examples.Curriculum, split: domain.SplitVal,
		Arms: []Arm{{Name: "levels", change: baseOnly}, {Name: "demonstrations", change: demonstrationsOnly}},
		rows: []row{
			{
				name: "levels − demonstrations, one agent on val",
				this: kindSingle, that: kindSingle, of: 0, minus: 1, must: notWorse(3),
			},
			{name: "levels − demonstrations, n agents on val", this: kindBase, that: kindBase, of: 0, minus: 1},
		},
	}
}

// baseOnly leaves stage 1 and its evaluation.
func baseOnly(s *spec.Spec, episodes int) {
	s.Epochs, s.Evaluation = 0, s.Evaluation.WithoutTests()
	s.Evaluation.Val = episodes
}

// demonstrationsOnly leaves stage 1 without levels, in one chunk of as many optimiser steps as the levels have.
func demonstrationsOnly(s *spec.Spec, episodes int) {
	baseOnly(s, episodes)
	f := &s.FineTune
	f.Levels = nil
	f.ChunkSteps = f.Steps.Level1 + f.Steps.Level2 + f.Steps.Level3 + f.Steps.Preference
	f.MaxChunks, f.StopLow, f.StopHigh = 1, 1, 1
}

// Only returns the experiment with some of its arms, in its own order, and the rows that compare no others. The first
// arm always stays, because the others begin with its base policy. An unknown name is an error.
func (x Experiment) Only(names []string) (Experiment, error) {
	place := map[int]int{} // of the arms that stay
	var arms []Arm
	for i, a := range x.Arms {
		if i == 0 || slices.Contains(names, a.Name) {
			place[i] = len(arms)
			arms = append(arms, a)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(arms, func(a Arm) bool { return a.Name == name }) {
			return x, fmt.Errorf("there is no arm %q", name)
		}
	}

	var rows []row
	for _, r := range x.rows {
		of, ok := place[r.of]
		minus, known := place[r.minus]
		if ok && known {
			r.of, r.minus = of, minus
			rows = append(rows, r)
		}
	}
	x.Arms, x.rows = arms, rows

	return x, nil
}

// Spec returns the specification of an arm for a seed, without its name and base policy.
func (x Experiment) Spec(arm Arm, seed, episodes int, c spec.Catalog) (spec.Spec, error) {
	s, err := spec.Parse(spec.Source{Name: "examples/" + x.file}, x.raw, c)
	if err != nil {
		return s, err
	}
	s.Seed = uint64(seed)
	arm.change(&s, episodes)

	return s, nil
}

// Results returns what the experiment compares of one finished run, under Key(kind, split).
func (x Experiment) Results(s spec.Spec, end runs.End) Results {
	kinds := map[string]string{
		kindSingle:                  kindSingle,
		rules.BaseName(s.Agents):    kindBase,
		rules.TrainedName(s.Agents): kindTrained,
	}
	results := Results{}
	for _, r := range end.Results {
		if kind, ok := kinds[r.System]; ok {
			results[Key(kind, r.Split)] = r
		}
	}

	return results
}

// Row is a tested line of an experiment's table, with the mean rates whose difference it is, in percent.
type Row struct {
	Claim
	This, That float64
}

// rateOf returns the rate of a kind of system in the run of an arm. A run whose epochs were all rolled back has no
// trained system: its agents are the base, which the run itself or that of the first arm has played.
func rateOf(kind, split string, run, first Rates) float64 {
	rate, ok := run[Key(kind, split)]
	if !ok && kind == kindTrained {
		kind = kindBase
		rate, ok = run[Key(kind, split)]
	}
	if !ok {
		rate = first[Key(kind, split)]
	}

	return rate
}

// Test tests the experiment on the rates of at least two seeds, by arm and then by seed.
func (x Experiment) Test(rates [][]Rates) []Row {
	var table []Row
	for _, r := range x.rows {
		of, minus, split := rates[r.of], rates[r.minus], cmp.Or(r.split, x.split)
		out, seeds := Row{}, float64(len(of))
		differences := make([]float64, len(of))
		for k := range of {
			this := rateOf(r.this, split, of[k], rates[0][k])
			that := rateOf(r.that, split, minus[k], rates[0][k])
			differences[k] = 100 * (this - that)
			out.This += 100 * this / seeds
			out.That += 100 * that / seeds
		}
		out.Claim = test(r.name, differences, r.must)
		table = append(table, out)
	}

	return table
}
