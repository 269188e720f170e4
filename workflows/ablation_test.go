package workflows_test

import (
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/record"
	"github.com/collabui/collabui/internal/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/testrun"
)

// TestEverySwitchOfTheMethodRunsToItsEnd plays the ablations of METHOD.md section 4 as switches of the same run.
func TestEverySwitchOfTheMethodRunsToItsEnd(t *testing.T) {
	for name, set := range map[string]func(*spec.Spec){
		"rft":               func(s *spec.Spec) { s.Preference = "rft" },
		"outcome":           func(s *spec.Spec) { s.Credit = "outcome" },
		"shared parameters": func(s *spec.Spec) { s.Parameters = "shared" },
		"no edges":          func(s *spec.Spec) { s.Edges = "none" },
		"one agent":         func(s *spec.Spec) { s.Agents, s.Decoding.Temperatures = 1, []float64{0.5} },
		"paper's pairs": func(s *spec.Spec) {
			s.Pairs.Kind, s.Reference, s.VoteScope, s.ViewDropout = "positive", "epoch_start", "last_round", 0.2
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
			first, _, err := store.Read[record.Update](t.Context(), r.Bucket, store.AgentKey("small", 1, 0, "update"))
			if err != nil {
				t.Fatal(err)
			}
			switch name {
			case "shared parameters":
				last, _, err := store.Read[record.Update](t.Context(), r.Bucket, store.AgentKey("small", 1, 3, "update"))
				if err != nil || last.Policy != first.Policy {
					t.Errorf("agents differ: %+v %+v %v", first.Policy, last.Policy, err)
				}
			case "no edges", "one agent":
				topo, _, err := store.Read[domain.Topology](t.Context(), r.Bucket, store.TopologyKey("small", 1))
				if err != nil || len(topo.Edges) != 0 {
					t.Errorf("%+v %v", topo, err)
				}
			case "rft", "outcome":
				for slot := 1; slot <= s.Slots; slot++ {
					p, _, err := store.Read[record.Pairs](t.Context(), r.Bucket, store.PairsKey("small", 1, slot))
					if err != nil || len(p.Calls) > 0 {
						t.Errorf("the adversary was asked %d times (%v)", len(p.Calls), err)
					}
				}
			}
		})
	}
}
