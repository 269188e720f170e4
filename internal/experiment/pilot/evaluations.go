package pilot

import (
	"cmp"
	"context"

	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// Kinds of evaluations. They cost differently: an agent that plays alone is asked once a step.
const (
	alone    = "evaluation, one agent"
	together = "evaluation, all agents"
)

// kindOf returns the kind of an evaluation by the system that plays.
func kindOf(evalSystem rules.EvalSystem) string {
	if len(evalSystem.Policies) > 1 && !evalSystem.OneOf {
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
			evalEpisode, _, err := m.run.EvalEpisode(asked.Item.ID(), n).Must(ctx, m.bucket)
			if err != nil {
				return err
			}
			kind.steps += float64(evalEpisode.Outcome.Steps)
			kind.cost = kind.cost.Plus(evalEpisode.Cost())
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
	work := timed(kind, e.activities, share(ofRun*length, e.steps))
	work.Calls = float64(e.cost.Calls)
	work.Tokens = float64(e.cost.Prompt + e.cost.Answer)
	work.Places = busy(e.activities)
	work.Bytes = m.bytes[runs.KindEvaluation] * share(e.episodes, ofPilot)
	m.add(work)
}

// evaluations returns the episodes that a run evaluates: those of one agent, and those of all.
func evaluations(specification spec.Spec) (one, all float64) {
	evaluation := specification.Evaluation
	chunks, _ := training(specification)
	val := float64(evaluation.Val)
	tests := float64(evaluation.TestSeeds + evaluation.TestTemplates + evaluation.TestApps)
	for _, other := range evaluation.OutOfDistribution {
		tests += float64(other.Episodes)
	}
	one = val * (chunks + 2) // one agent in two decodings
	if specification.FineTune.Base != "" {
		one += val
	}
	if specification.Agents > 1 {
		all += val
	}
	if evaluation.Base {
		one += tests
		if specification.Agents > 1 {
			all += tests
		}
	}
	if specification.Epochs > 0 {
		all += val*float64((specification.Epochs+evaluation.Every-1)/evaluation.Every) + tests
	}
	if specification.Agents == 1 {
		one += all
		all = 0
	}

	return one, all
}
