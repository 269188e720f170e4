package claims

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers/catalog"
)

// noisy returns the rates of three seeds of critic-noise: the trained system gains less the more the critic errs.
func noisy(x Experiment) [][]Rates {
	rates := make([][]Rates, len(x.Arms))
	for i := range x.Arms {
		for k := range 3 {
			trained := 0.4 + 0.1*float64(4-i) + 0.01*float64(k-1)
			rates[i] = append(rates[i], Rates{"base/test-seeds": 0.4, "trained/test-seeds": trained})
		}
	}

	return rates
}

func TestAnExperimentIsATableWithAClaim(t *testing.T) {
	x := Experiments()["critic-noise"]
	rates := noisy(x)
	table := x.Test(rates)

	if first := table[0]; first.Name != "critic errs  0 %" || math.Abs(first.This-80) > 1e-9 ||
		math.Abs(first.That-40) > 1e-9 || math.Abs(first.Mean-40) > 1e-9 || first.Verdict() != "" {
		t.Errorf("the first row is %+v, want 80 − 40 = 40 without a claim", first)
	}
	last := table[len(table)-1]
	if want := "holds: nothing is gained: upper bound below 5"; last.Verdict() != want {
		t.Errorf("the verdict on pure noise is %q, want %q", last.Verdict(), want)
	}

	for k := range 3 {
		rates[4][k]["trained/test-seeds"] = 0.6 + 0.001*float64(k)
	}
	table = x.Test(rates)
	last = table[len(table)-1]
	if want := "FAILS: nothing is gained: upper bound below 5"; last.Verdict() != want {
		t.Errorf("the verdict on noise that gains is %q, want %q", last.Verdict(), want)
	}
	if c, failed := Failed([]Claim{table[0].Claim, last.Claim}); !failed || c.Name != last.Name {
		t.Errorf("Failed = %q, %v; want %q", c.Name, failed, last.Name)
	}
}

func TestTheArmsOfExperimentsAreSpecifications(t *testing.T) {
	for name, x := range Experiments() {
		for _, arm := range x.Arms {
			t.Run(name+"-"+arm.Name, func(t *testing.T) {
				s, err := x.Spec(arm, 1, 300, catalog.All{})
				if err != nil {
					t.Fatal(err)
				}
				s.Name = name + "-" + arm.Name + "-r1-300"
				if err := s.Validate(catalog.All{}); err != nil {
					t.Errorf("Validate = %v, want no error", err)
				}
				steps := s.FineTune.ChunkSteps * s.FineTune.MaxChunks
				if arm.Name == "demonstrations" && steps != 600 {
					t.Errorf("%d optimiser steps, want the 600 of the levels", steps)
				}
			})
		}
	}
}

func TestSomeArmsOfAnExperimentKeepTheirRows(t *testing.T) {
	x, err := Experiments()["update"].Only([]string{"old-ftx", "old"})
	if err != nil {
		t.Fatal(err)
	}
	var arms []string
	for _, a := range x.Arms {
		arms = append(arms, a.Name)
	}
	if want := []string{"new", "old", "old-ftx"}; !slices.Equal(arms, want) {
		t.Errorf("arms = %v, want %v", arms, want)
	}

	rate := func(v float64) []Rates {
		one := Rates{"base/test-seeds": 0.25, "trained/test-seeds": v}

		return []Rates{one, one}
	}
	for _, r := range x.Test([][]Rates{rate(0.5), rate(0.125), rate(0.375)}) {
		want := map[string]float64{
			"new − base on test-seeds": 50, "old − base on test-seeds": 12.5, "old-ftx − base on test-seeds": 37.5,
		}[r.Name]
		if r.This != want {
			t.Errorf("%s compares %v %%, want %v %%", r.Name, r.This, want)
		}
	}

	if _, err := x.Only([]string{"none"}); err == nil || !strings.Contains(err.Error(), `"none"`) {
		t.Errorf("Only(none) = %v, want an error that names the arm", err)
	}
}

func TestARunThatWasAlwaysRolledBackHasTheRateOfItsBase(t *testing.T) {
	x, err := Experiments()["update"].Only([]string{"old"})
	if err != nil {
		t.Fatal(err)
	}
	first := Rates{"base/test-seeds": 0.25, "trained/test-seeds": 0.5}
	for _, r := range x.Test([][]Rates{{first, first}, {{}, {}}}) {
		want := map[string]float64{"new − base on test-seeds": 25, "old − base on test-seeds": 0}[r.Name]
		if r.Mean != want {
			t.Errorf("%s = %v points, want %v", r.Name, r.Mean, want)
		}
	}
}

func TestRatesAreKeptBySystemAndSplit(t *testing.T) {
	end := runs.End{Results: []runs.Result{
		{System: "base-1", Split: "val", Rate: 0.1},
		{System: "base-4", Split: "val", Rate: 0.2},
		{System: "trained-4", Split: "test-seeds", Rate: 0.3},
	}}
	all := Rates{"base-1/val": 0.1, "base/val": 0.2, "trained/test-seeds": 0.3}
	for name, want := range map[string]Rates{
		"curriculum":   all,
		"critic-noise": all,
	} {
		if got := Experiments()[name].Results(spec.Default(), end).Rates(); !maps.Equal(got, want) {
			t.Errorf("%s: Rates = %v, want %v", name, got, want)
		}
	}
}

func TestUnseenAppsAreComparedIfTheyWerePlayed(t *testing.T) {
	s := spec.Default()
	played := Rates{"trained-4/test-apps": 0.5, "imitation-4/test-apps": 0.5, "base-4/test-apps": 0.25}
	for name, c := range map[string]struct {
		seed Rates
		want int
	}{
		"played":     {played, 3},
		"not played": {Rates{"trained-4/test-seeds": 0.5}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := 0
			for _, claim := range Test([]Rates{c.seed, c.seed}, s) {
				if strings.HasSuffix(claim.Name, "test-apps") {
					got++
				}
			}
			if got != c.want {
				t.Errorf("%d comparisons on test-apps, want %d", got, c.want)
			}
		})
	}
}

func TestTokensPerSuccessAreOverAllSeeds(t *testing.T) {
	of := func(successes, prompt, answer int) runs.Result {
		cost := runs.Cost{Calls: 1, Usage: domain.Usage{Prompt: prompt, Answer: answer}}
		return runs.Result{Successes: successes, Cost: cost}
	}
	got := TokensOf([]Results{
		{"a": of(1, 100, 10), "lost": of(0, 50, 5), "older": {Successes: 1}},
		{"a": of(3, 260, 30), "lost": of(0, 50, 5), "older": {Successes: 2}},
	})
	if want := (Tokens{"a": 100}); !maps.Equal(got, want) {
		t.Errorf("TokensOf = %v, want %v", got, want)
	}
}

func TestTheQuickstartsClaimsNeedAllSeeds(t *testing.T) {
	s := spec.Default()
	better := func(gain float64) Rates {
		return Rates{
			"trained-4/test-seeds": 0.5 + gain, "base-4/test-seeds": 0.5, "base-1/test-seeds": 0.3,
			"alone/test-seeds":         0.4 + gain,
			"trained-4/test-templates": 0.5, "base-4/test-templates": 0.5,
		}
	}
	for _, c := range []struct {
		name  string
		seeds []Rates
		want  bool
	}{
		{"every seed gains", []Rates{better(0.10), better(0.11), better(0.12)}, true},
		{"one seed gains", []Rates{better(0.30), better(0), better(0)}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Test(c.seeds, s)[0]
			if want := "trained-4 − base-4 on test-seeds"; got.Name != want || !got.Claimed {
				t.Errorf("the first claim is %+v, want %s", got, want)
			}
			if got.Holds != c.want {
				t.Errorf("the claim holds: %v, want %v", got.Holds, c.want)
			}
		})
	}
}
