package pilot

import (
	"math"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
)

// ran returns an activity that ran between two seconds.
func ran(from, to int) did { return did{from: time.Unix(int64(from), 0), to: time.Unix(int64(to), 0)} }

func TestWorkIsAllTimeAndTheTimeInWhichAnythingRan(t *testing.T) {
	all := []did{ran(10, 12), ran(0, 4), ran(1, 3), ran(3, 6)}
	if seconds, wall := work(all); seconds != 11 || wall != 8 {
		t.Errorf("work = %v, %v, want 11, 8", seconds, wall)
	}
	if got := lanes(all); got != 2 {
		t.Errorf("lanes = %v, want 2: one ended when the next began", got)
	}
	if got := lanes(nil); got != 1 {
		t.Errorf("lanes of nothing = %v, want 1", got)
	}
}

func TestEvaluationsAreThoseOfOneAgentAndOfAll(t *testing.T) {
	s := spec.Default()
	s.Agents, s.Epochs = 4, 5
	s.Evaluation = spec.Evaluation{Val: 100, TestSeeds: 30, TestTemplates: 20, Every: 2, Base: true}
	for _, c := range []struct {
		name      string
		change    func(*spec.Spec)
		one, many float64
	}{
		// Two chunks and two decodings; base-4, then after epochs 2, 4 and 5; the base and the best system at the end.
		{"four agents", func(*spec.Spec) {}, 450, 500},
		{"one agent", func(s *spec.Spec) { s.Agents = 1 }, 800, 0},
		{"no base at the end", func(s *spec.Spec) { s.Evaluation.Base = false }, 400, 450},
		{"a given base", func(s *spec.Spec) { s.FineTune.Base = "x" }, 550, 500},
		{"stage 1 only", func(s *spec.Spec) { s.Epochs = 0 }, 450, 150},
	} {
		of := s
		c.change(&of)
		if one, many := evaluations(of, 2); one != c.one || many != c.many {
			t.Errorf("%s: evaluations = %v, %v, want %v, %v", c.name, one, many, c.one, c.many)
		}
	}
}

// TestOneAgentIsPlannedAtThePaceOfOne measures a pilot of four agents for an arm that has one.
func TestOneAgentIsPlannedAtThePaceOfOne(t *testing.T) {
	s := spec.Default()
	p := Spec(s, 4)
	s.Agents, s.Rounds = 1, 1
	m := &measuring{spec: s, pilot: p}
	m.kinds()
	for k, seconds := range []int{10, 400} {
		e := m.evaluated[k]
		e.did, e.episodes = []did{ran(0, seconds)}, 10
		m.evaluationPhase(e)
	}
	one, err := rules.Kind{Of: rules.OfTrained}.System(s, []string{"p"})
	if err != nil {
		t.Fatal(err)
	}
	if h := m.out.Playing(Phase(s, one), 360).Mid; math.Abs(h-0.1) > 1e-9 {
		t.Errorf("360 episodes of one agent take %v hours, want 0.1, as those of one agent in the pilot", h)
	}
	s.Agents = 4
	four, err := rules.Kind{Of: rules.OfTrained}.System(s, make([]string, 4))
	if err != nil {
		t.Fatal(err)
	}
	m = &measuring{spec: s, pilot: p}
	m.kinds()
	if got, want := m.evaluated[1].name, Phase(s, four); got != want {
		t.Errorf("several agents are measured as %q, want %q, by which they are found", got, want)
	}
}
