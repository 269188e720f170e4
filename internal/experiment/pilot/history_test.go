package pilot

import (
	"testing"
	"time"

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
