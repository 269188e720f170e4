package workflows_test

import (
	"reflect"
	"testing"

	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/test/kit/testrun"
)

// TestEverySwitchOfTheMethodRunsToItsEnd plays the ablations of docs/method.md as switches of the same run.
func TestEverySwitchOfTheMethodRunsToItsEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set   func(*spec.Spec)
		check func(*testing.T, *testrun.Run) // nil: only that the run ends
	}{
		"rft":               {func(s *spec.Spec) { s.Preference = spec.PreferenceRFT }, wantThePairsOfDPO},
		"outcome":           {func(s *spec.Spec) { s.Credit = spec.CreditOutcome }, wantNoAdversary},
		"shared parameters": {func(s *spec.Spec) { s.Parameters = spec.ParametersShared }, wantOnePolicy},
		"no edges":          {func(s *spec.Spec) { s.Edges = spec.EdgesNone }, wantNoEdges},
		"one agent": {func(s *spec.Spec) {
			s.Agents, s.Decoding.Temperatures = 1, []float64{0.5}
		}, wantNoEdges},
		"paper's pairs": {func(s *spec.Spec) {
			s.Pairs.Kind, s.Reference = spec.PairsPositive, spec.ReferenceEpochStart
			s.VoteScope, s.ViewDropout = agents.ScopeLast, 0.2
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testrun.Small()
			s.Epochs, s.Slots, s.Evaluation.TestSeeds, s.Evaluation.TestTemplates = 1, 6, 0, 0
			c.set(&s)
			r := testrun.WithBase(t, s)
			play(t, r)

			read(t, r, runs.Run("small").Update(1, 0))
			if c.check != nil {
				c.check(t, r)
			}
		})
	}
}

// wantThePairsOfDPO checks that RFT learns from the chosen answers that DPO would learn from.
func wantThePairsOfDPO(t *testing.T, r *testrun.Run) {
	t.Helper()
	s := r.Spec
	s.Preference = spec.PreferenceDPO
	other := testrun.WithBase(t, s)
	play(t, other)

	for agent := range s.Agents {
		data := runs.Run("small").Dataset(1, agent)
		got, want := read(t, r, data).Card, read(t, other, data).Card
		if !reflect.DeepEqual(got, want) || len(got.Counts) == 0 {
			t.Errorf("agent %d learns from %+v, want %+v", agent, got, want)
		}
	}
}

func wantNoAdversary(t *testing.T, r *testrun.Run) {
	t.Helper()
	for slot := 1; slot <= r.Spec.Slots; slot++ {
		if p := read(t, r, runs.Run("small").Pairs(1, slot)); len(p.Calls) > 0 {
			t.Errorf("the adversary was asked %d times in slot %d, want never", len(p.Calls), slot)
		}
	}
}

func wantOnePolicy(t *testing.T, r *testrun.Run) {
	t.Helper()
	first := read(t, r, runs.Run("small").Update(1, 0)).Policy
	if last := read(t, r, runs.Run("small").Update(1, 3)).Policy; last != first {
		t.Errorf("the last agent's policy = %+v, want the first one's, %+v", last, first)
	}
}

func wantNoEdges(t *testing.T, r *testrun.Run) {
	t.Helper()
	if topo := read(t, r, runs.Run("small").Topology(1)); len(topo.Edges) != 0 {
		t.Errorf("the graph = %+v, want no edges", topo)
	}
}
