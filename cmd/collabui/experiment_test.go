package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers/catalog"
)

func TestAnExperimentIsATableWithAClaim(t *testing.T) {
	x := experiments()["critic-noise"]
	figures := make([][]rates, len(x.arms))
	for i := range x.arms {
		for k := range 3 {
			figures[i] = append(figures[i], rates{"base": 0.4, "trained": 0.4 + 0.1*float64(4-i) + 0.01*float64(k-1)})
		}
	}
	var out bytes.Buffer
	if err := (&app{out: &out}).table(x, figures, 3, 100); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"critic errs  0 %", "80.0 −  40.0 =  +40.0", "critic is pure noise", "holds: lower bound not above 0"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("lacks %q:\n%s", want, out.String())
		}
	}
	for k := range 3 {
		figures[4][k]["trained"] = 0.6 + 0.001*float64(k)
	}
	out.Reset()
	if err := (&app{out: &out}).table(x, figures, 3, 100); !errors.Is(err, errFailed) || !strings.Contains(out.String(), "FAILS") {
		t.Errorf("noise that gains is no failure: %v\n%s", err, out.String())
	}
}

func TestTheArmsOfExperimentsAreSpecifications(t *testing.T) {
	for name, x := range experiments() {
		for _, arm := range x.arms {
			s, err := spec.Parse(x.spec, x.raw, catalog.All{})
			if err != nil {
				t.Fatal(err)
			}
			s.Name = name + "-" + arm.name + "-r1-300"
			arm.change(&s, 300)
			if err := s.Validate(catalog.All{}); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
			if steps := s.FineTune.ChunkSteps * s.FineTune.MaxChunks; arm.name == "demonstrations" && steps != 600 {
				t.Errorf("%d optimiser steps where the levels have 600", steps)
			}
		}
	}
	s := spec.Default()
	end := runs.End{Results: []runs.Result{{System: "base-1", Split: "val", Rate: 0.1}, {System: "base-4", Split: "val", Rate: 0.2}, {System: "trained-4", Split: "test-seeds", Rate: 0.3}}}
	if v := valRates(s, end); v["base-1"] != 0.1 || v["base"] != 0.2 || len(v) != 2 {
		t.Error(v)
	}
	if v := testRates(s, end); v["trained"] != 0.3 {
		t.Error(v)
	}
}

func TestAPilotIsSmallAndNamedByItsSpecification(t *testing.T) {
	s := spec.Default()
	s.Name = "a-name-of-nearly-forty-characters-in-all"
	s.FineTune.Levels = []int{1, 2, 3}
	p := pilotOf(s, 5)
	if err := p.Validate(catalog.All{}); err != nil {
		t.Fatal(err)
	}
	if p.Slots != 5 || p.Epochs != 1 || p.FineTune.Demonstrations != 5 || p.FineTune.Steps.Level2 != pilotSteps || p.Evaluation.Val != 5 || p.Evaluation.TestSeeds != 0 {
		t.Errorf("%+v", p)
	}
	s.Rounds++
	if q := pilotOf(s, 5); q.Name == p.Name {
		t.Error("another specification has the same pilot")
	}
}
