package workflows_test

import (
	"testing"

	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/test/kit/testrun"
)

// TestEverySwitchOfTheMethodRunsToItsEnd plays the ablations of METHOD.md section 4 as switches of the same run.
func TestEverySwitchOfTheMethodRunsToItsEnd(t *testing.T) {
	for name, set := range map[string]func(*spec.Spec){
		"rft":               func(s *spec.Spec) { s.Preference = spec.PreferenceRFT },
		"outcome":           func(s *spec.Spec) { s.Credit = spec.CreditOutcome },
		"shared parameters": func(s *spec.Spec) { s.Parameters = spec.ParametersShared },
		"no edges":          func(s *spec.Spec) { s.Edges = spec.EdgesNone },
		"one agent":         func(s *spec.Spec) { s.Agents, s.Decoding.Temperatures = 1, []float64{0.5} },
		"paper's pairs": func(s *spec.Spec) {
			s.Pairs.Kind, s.Reference, s.VoteScope, s.ViewDropout = spec.PairsPositive, spec.ReferenceEpochStart, agents.ScopeLast, 0.2
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testrun.Small()
			s.Epochs, s.Slots, s.Evaluation.TestSeeds, s.Evaluation.TestTemplates = 1, 6, 0, 0
			set(&s)
			r := testrun.New(t, s)
			if _, err := r.Play(t, nil); err != nil {
				t.Fatal(err)
			}
			clean(t, r)
			first, _, err := runs.Run("small").Update(1, 0).Read(t.Context(), r.Bucket)
			if err != nil {
				t.Fatal(err)
			}
			switch name {
			case "shared parameters":
				last, _, err := runs.Run("small").Update(1, 3).Read(t.Context(), r.Bucket)
				if err != nil || last.Policy != first.Policy {
					t.Errorf("agents differ: %+v %+v %v", first.Policy, last.Policy, err)
				}
			case "no edges", "one agent":
				topo, _, err := runs.Run("small").Topology(1).Read(t.Context(), r.Bucket)
				if err != nil || len(topo.Edges) != 0 {
					t.Errorf("%+v %v", topo, err)
				}
			case "rft", "outcome":
				for slot := 1; slot <= s.Slots; slot++ {
					p, _, err := runs.Run("small").Pairs(1, slot).Read(t.Context(), r.Bucket)
					if err != nil || len(p.Calls) > 0 {
						t.Errorf("the adversary was asked %d times (%v)", len(p.Calls), err)
					}
				}
			}
		})
	}
}
