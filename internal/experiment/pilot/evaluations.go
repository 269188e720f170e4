package pilot

import (
	"cmp"
	"context"

	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// Kinds of evaluations. Their costs differ: an agent that plays alone makes one call per step.
const (
	oneAgent  = "evaluation, one agent"
	allAgents = "evaluation, all agents"
)

// kindOf returns the kind of an evaluation by the system that plays.
func kindOf(evalSystem rules.EvalSystem) string {
	if len(evalSystem.Policies) > 1 && !evalSystem.OneOf {
		return allAgents
	}

	return oneAgent
}

// evaluated is the cost of all evaluations of a kind.
type evaluated struct {
	activities      []activity
	episodes, steps float64
	cost            runs.Cost
}

// evaluations adds the cost of evaluations, by kind. Evaluations on other environments are assumed to cost the same as
// on the run's own.
func (m *measuring) evaluations(ctx context.Context) error {
	kinds := map[string]*evaluated{oneAgent: {}, allAgents: {}}
	episodes := 0.0
	for _, a := range m.activities["Evaluate"] {
		input, err := read[struct {
			Item     rules.EvalItem
			From, To int
		}](m, a.input)
		if err != nil {
			return err
		}
		kind := kinds[kindOf(input.Item.System)]
		kind.activities = append(kind.activities, a)
		kind.episodes += float64(input.To - input.From)
		episodes += float64(input.To - input.From)
		for n := input.From + 1; n <= input.To; n++ {
			evalEpisode, _, err := m.run.EvalEpisode(input.Item.ID(), n).Must(ctx, m.bucket)
			if err != nil {
				return err
			}
			kind.steps += float64(evalEpisode.Outcome.Steps)
			kind.cost = kind.cost.Plus(evalEpisode.Cost())
		}
	}

	one, all := evaluations(m.spec)
	m.evaluation(oneAgent, *kinds[oneAgent], one, episodes)
	m.evaluation(allAgents, *kinds[allAgents], all, episodes)

	return nil
}

// evaluation adds the evaluations of a kind. ofRun is the number of their episodes in the run, and ofPilot the number
// of episodes of all kinds in the pilot.
func (m *measuring) evaluation(kind string, e evaluated, ofRun, ofPilot float64) {
	length := cmp.Or(m.length, share(e.steps, e.episodes)) // the second if nothing was rolled out
	work := timed(kind, e.activities, share(ofRun*length, e.steps))
	work.Calls = float64(e.cost.Calls)
	work.Tokens = float64(e.cost.Prompt + e.cost.Answer)
	work.Places = busy(e.activities)
	work.Bytes = m.bytes[runs.KindEvaluation] * share(e.episodes, ofPilot)
	m.add(work)
}

// evaluations returns the numbers of episodes that a run evaluates: with one agent, and with all agents.
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
