package workflows_test

import (
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
)

// TestEverySwitchOfTheMethodRunsToItsEnd plays the ablations of docs/method.md as switches of the same run.
func TestEverySwitchOfTheMethodRunsToItsEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set   func(*spec.Spec)
		check func(*testing.T, *testrun.Run) // nil: only that the run ends
	}{
		"rft":     {func(s *spec.Spec) { s.Preference = spec.PreferenceRFT }, wantEveryRightAnswerOnce},
		"grpo":    {func(s *spec.Spec) { s.Preference = spec.PreferenceGRPO }, wantSamples},
		"outcome": {func(s *spec.Spec) { s.Credit = spec.CreditOutcome }, wantNoAdversary},
		"advantage": {func(s *spec.Spec) {
			s.Credit, s.Preference, s.Epochs = spec.CreditAdvantage, spec.PreferenceRFT, 2
		}, wantAValue},
		"shared parameters": {func(s *spec.Spec) { s.Parameters = spec.ParametersShared }, wantOnePolicy},
		"no edges":          {func(s *spec.Spec) { s.Edges = spec.EdgesNone }, wantNoEdges},
		"one agent": {func(s *spec.Spec) {
			s.Agents, s.Decoding.Temperatures = 1, []float64{0.5}
		}, wantNoEdges},
		"paper's pairs": {func(s *spec.Spec) {
			s.Pairs.Kind, s.Reference = spec.PairsPositive, spec.ReferenceEpochStart
			s.VoteScope = agents.ScopeLast
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testrun.Small()
			s.Epochs, s.Slots, s.Evaluation.TestSeeds, s.Evaluation.TestTemplates = 1, 6, 0, 0
			c.set(&s)
			prepare := testrun.WithBase
			if s.Preference == spec.PreferenceGRPO {
				prepare = testrun.LearningWithBase
			}
			r := prepare(t, s)
			play(t, r)

			read(t, r, runs.Run("small").Update(1, 0))
			if c.check != nil {
				c.check(t, r)
			}
		})
	}
}

// wantEveryRightAnswerOnce checks that RFT learns from every right answer of an agent once, whether or not there is a
// wrong one to compare it with.
func wantEveryRightAnswerOnce(t *testing.T, r *testrun.Run) {
	t.Helper()
	wantNoAdversary(t, r)
	run := runs.Run("small")
	type answer struct {
		slot, step, agent int
		canonical         string
	}
	right := map[answer]int{}
	for slot := 1; slot <= r.Spec.Slots; slot++ {
		episode, _, err := run.Episode(t.Context(), r.Bucket, 1, slot)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := episode.ReadSteps(t.Context(), r.Bucket)
		if err != nil {
			t.Fatal(err)
		}
		labels := read(t, r, run.Credits(1, slot)).Steps
		for i, step := range steps {
			for k, cell := range step.Decision.Cells {
				if labels[i].Labels[k] == domain.Positive {
					right[answer{slot, step.Number, cell.Agent, cell.Canonical}] = 0
				}
			}
		}
		for _, row := range read(t, r, run.Pairs(1, slot)).Pairs {
			if row.Rejected != "" || row.Source != domain.SourceNone {
				t.Errorf("RFT has a row of source %q that rejects %q, want none", row.Source, row.Rejected)
			}
			right[answer{slot, row.Step, row.Agent, row.ChosenCanonical}]++
		}
	}
	if len(right) == 0 {
		t.Error("nothing was right, want right answers to learn from")
	}
	for what, rows := range right {
		if rows != 1 {
			t.Errorf("%+v has %d rows, want 1", what, rows)
		}
	}
}

// wantSamples checks that GRPO learns from the recorded answers alone, and that it ends with the same bits if it is
// repeated.
func wantSamples(t *testing.T, r *testrun.Run) {
	t.Helper()
	wantNoAdversary(t, r)
	for agent := range r.Spec.Agents {
		u := read(t, r, runs.Run("small").Update(1, agent))
		card := read(t, r, runs.Run("small").Dataset(1, agent)).Card
		if u.Steps == 0 || len(card.BySource) != 1 || card.BySource[domain.SourceGroup] == 0 {
			t.Errorf("agent %d made %d steps on %v (%s), want steps on samples only",
				agent, u.Steps, card.BySource, u.Kept)
		}
		p := u.Probe
		if u.Kept == "" && (u.Policy == u.Parent || p.Chosen.Change() <= p.Rejected.Change() || p.Preference != 1) {
			t.Errorf("agent %d: the probe is %+v, want raised answers to gain on lowered ones", agent, p)
		}
		for of, gap := range map[string]domain.Gap{"policy that is served": u.Served, "rollouts": u.Played} {
			if gap.Answers == 0 || gap.Wide() || gap.Unknown != "" {
				t.Errorf("agent %d: the gap of the %s is %+v, want none, but answers compared", agent, of, gap)
			}
		}
	}

	again := testrun.LearningWithBase(t, r.Spec)
	play(t, again)
	run := runs.Run("small")
	if got, want := read(t, again, run.Epoch(1)).Digest, read(t, r, run.Epoch(1)).Digest; got != want {
		t.Errorf("the epoch's digest is %s the second time, want %s", got, want)
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

// wantAValue checks that the second epoch knows what the first one showed, and labels by it.
func wantAValue(t *testing.T, r *testrun.Run) {
	t.Helper()
	wantNoAdversary(t, r)
	run := runs.Run("small")
	first, second := read(t, r, run.Value(1)), read(t, r, run.Value(2))
	if first.Model != nil || second.Model == nil || second.Episodes != r.Spec.Slots || second.Steps < r.Spec.Slots {
		t.Errorf("the epochs know %+v and %+v, want nothing and what %d episodes showed", first, second, r.Spec.Slots)
	}
	if c := read(t, r, run.Credits(2, 1)); c.Critic != rules.CriticAdvantage || len(c.Steps) == 0 {
		t.Errorf("the labels are %+v, want those of advantages", c)
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
