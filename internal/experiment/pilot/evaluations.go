package pilot

import (
	"cmp"
	"context"

	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
)

// Kinds of evaluations. They cost differently: an agent that plays alone is asked once a step.
const (
	alone    = "evaluation, one agent"
	together = "evaluation, all agents"
)

// kindOf returns the kind of an evaluation by the system that plays.
func kindOf(s rules.EvalSystem) string {
	if len(s.Policies) > 1 && !s.OneOf {
		return together
	}

	return alone
}

// evaluated is what evaluations of a kind took.
type evaluated struct {
	activities      []activity
	episodes, steps float64
	cost            runs.Cost
}

// evaluations adds what the evaluations took, by kind. Those on other environments are as those on the run's own.
func (m *measuring) evaluations(ctx context.Context) error {
	kinds := map[string]*evaluated{alone: {}, together: {}}
	episodes := 0.0
	for _, a := range m.did["Evaluate"] {
		asked, err := read[struct {
			Item     rules.EvalItem
			From, To int
		}](m, a.input)
		if err != nil {
			return err
		}
		kind := kinds[kindOf(asked.Item.System)]
		kind.activities = append(kind.activities, a)
		kind.episodes += float64(asked.To - asked.From)
		episodes += float64(asked.To - asked.From)
		for n := asked.From + 1; n <= asked.To; n++ {
			e, _, err := m.run.EvalEpisode(asked.Item.ID(), n).Must(ctx, m.bucket)
			if err != nil {
				return err
			}
			kind.steps += float64(e.Outcome.Steps)
			kind.cost = kind.cost.Plus(e.Cost())
		}
	}

	one, all := evaluations(m.spec)
	m.evaluation(alone, *kinds[alone], one, episodes)
	m.evaluation(together, *kinds[together], all, episodes)

	return nil
}

// evaluation adds the evaluations of a kind, of which the run has so many episodes. The pilot has others of all kinds.
func (m *measuring) evaluation(kind string, e evaluated, ofRun, ofPilot float64) {
	length := cmp.Or(m.length, share(e.steps, e.episodes)) // the second if nothing was rolled out
	w := timed(kind, e.activities, share(ofRun*length, e.steps))
	w.Calls = float64(e.cost.Calls)
	w.Tokens = float64(e.cost.Prompt + e.cost.Answer)
	w.Places, w.Bytes = busy(e.activities), m.bytes[runs.KindEvaluation]*share(e.episodes, ofPilot)
	m.add(w)
}

// evaluations returns the episodes that a run evaluates: those of one agent, and those of all.
func evaluations(s spec.Spec) (one, all float64) {
	e := s.Evaluation
	chunks, _ := training(s)
	val := float64(e.Val)
	tests := float64(e.TestSeeds + e.TestTemplates + e.TestApps)
	for _, other := range e.OutOfDistribution {
		tests += float64(other.Episodes)
	}
	one = val * (chunks + 2) // one agent in two decodings
	if s.FineTune.Base != "" {
		one += val
	}
	if s.Agents > 1 {
		all += val
	}
	if e.Base {
		one += tests
		if s.Agents > 1 {
			all += tests
		}
	}
	if s.Epochs > 0 {
		all += val*float64((s.Epochs+e.Every-1)/e.Every) + tests
	}
	if s.Agents == 1 {
		one = one + all
		all = 0
	}

	return one, all
}
