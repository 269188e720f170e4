package pilot

import (
	"fmt"
	"math"

	"github.com/collabui/collabui/internal/experiment/estimate"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
)

// evaluated are evaluations of one kind: those of one agent, of all agents, or on one other environment. They cost
// differently: an agent that plays alone is asked once a step.
type evaluated struct {
	name     string
	did      []did
	episodes float64
	steps    float64
	calls    float64
	tokens   estimate.Sample // per call, a mean for every activity
	total    float64         // episodes in the run
	low      float64         // the least
}

// evaluations reads what the evaluations took, by kind.
func (m *measuring) evaluations() error {
	m.kinds()
	list := []string{"/finetune", "/eval/0000-val", "/eval/0000-test", "/eval/0000-references"}
	for epoch := 1; epoch <= m.pilot.Epochs; epoch++ {
		list = append(list, fmt.Sprintf("/eval/%04d-val", epoch), fmt.Sprintf("/eval/%04d-test", epoch))
	}
	for _, workflow := range list {
		of, err := m.done(workflow)
		if err != nil {
			return err
		}
		for _, d := range of["Evaluate"] {
			if err := m.evaluate(d); err != nil {
				return err
			}
		}
	}
	for _, e := range m.evaluated {
		m.sameLength(e)
		m.evaluationPhase(e)
	}

	return nil
}

// kinds lists the kinds of evaluations: of one agent, of several, and elsewhere. A pilot of several agents evaluates
// them together even if the specification that is estimated has one.
func (m *measuring) kinds() {
	low, _ := evaluations(m.spec, leastChunks(m.spec))
	one, many := evaluations(m.spec, chunks(m.spec))
	agents := m.spec.Agents
	if agents == 1 {
		agents = max(m.pilot.Agents, 2)
	}
	m.evaluated = []*evaluated{
		{name: alone, low: low, total: one}, {name: together(agents), low: many, total: many},
	}
	for _, e := range m.spec.Evaluation.OutOfDistribution {
		n := float64(e.Episodes * (evaluatedAtEnd(m.spec)))
		m.evaluated = append(m.evaluated, &evaluated{name: elsewhere(e.Environment, e.Split), low: n, total: n})
	}
}

// evaluate counts an activity as its kind.
func (m *measuring) evaluate(d did) error {
	asked, err := read[struct {
		Item     rules.EvalItem
		From, To int
	}](d.input)
	if err != nil {
		return err
	}
	gave, err := read[struct{ Cost runs.Cost }](d.result)
	if err != nil {
		return err
	}
	kind := m.evaluated[0]
	if several(asked.Item.System) {
		kind = m.evaluated[1]
	}
	for _, e := range m.evaluated[2:] {
		if asked.Item.Environment != "" && e.name == elsewhere(asked.Item.Environment, asked.Item.Split) {
			kind = e
		}
	}

	kind.did = append(kind.did, d)
	kind.episodes += float64(asked.To - asked.From)
	kind.calls += float64(gave.Cost.Calls)
	if n := float64(gave.Cost.Calls); n > 0 {
		kind.tokens = append(kind.tokens, float64(gave.Cost.Prompt+gave.Cost.Answer)/n)
	}
	for i := asked.From; i < asked.To; i++ {
		e, _, err := m.run.EvalEpisode(asked.Item.ID(), i+1).Must(m.ctx, m.bucket)
		if err != nil {
			return err
		}
		kind.steps += float64(e.Outcome.Steps)
	}

	return nil
}

// sameLength corrects the episodes of the run for those of the pilot's evaluation that happened to be longer or shorter
// than its rollouts, which stand for the length of all. With several agents, cells that can no longer change a vote are
// not asked for: at best, all agree from the beginning.
func (m *measuring) sameLength(e *evaluated) {
	if m.steps == 0 || e.steps == 0 {
		return
	}
	by := m.steps / m.pilotSlots() / (e.steps / e.episodes)
	e.low, e.total = e.low*by, e.total*by
	if e.name == together(m.spec.Agents) {
		most := float64(m.spec.Agents * m.spec.Rounds)
		e.low *= min(1, (math.Floor(most/2)+1)/(e.calls/e.steps))
	}
}

func (m *measuring) evaluationPhase(e *evaluated) {
	p := estimate.Phase{
		Name: e.name, Lanes: max(m.lanes, lanes(e.did)), Units: e.episodes, Low: e.low, Total: e.total, Steps: true,
	}
	p.Work, p.Wall = work(e.did)
	p.Places = p.Work
	m.phase(p)
}

// alone names evaluations of one agent.
const alone = "evaluation, one agent"

// several reports whether more than one agent of a system plays.
func several(s rules.EvalSystem) bool { return len(s.Policies) > 1 && !s.OneOf }

// Phase returns the name of the phase that has the pace at which a system of a run plays.
func Phase(s spec.Spec, system rules.EvalSystem) string {
	if several(system) {
		return together(s.Agents)
	}

	return alone
}

// together names evaluations of so many agents.
func together(agents int) string { return fmt.Sprintf("evaluation, %d agents", agents) }

func elsewhere(environment, split string) string {
	return "evaluation on " + environment + ", " + split
}

// evaluations returns the episodes that a run with so many chunks of stage 1 evaluates in its own environment: those of
// one agent, and those of several.
func evaluations(s spec.Spec, chunks int) (one, many float64) {
	e := s.Evaluation
	tests := e.TestSeeds + e.TestTemplates + e.TestApps
	single, together := e.Val*(chunks+2), 0 // one agent in two decodings
	if s.FineTune.Base != "" {
		single += e.Val
	}
	if s.Agents > 1 {
		together += e.Val
	}
	if e.Base {
		single += tests
		if s.Agents > 1 {
			together += tests
		}
	}
	if s.Epochs > 0 {
		together += e.Val*((s.Epochs+e.Every-1)/e.Every) + tests
	}
	if s.Agents == 1 {
		single, together = single+together, 0
	}

	return float64(single), float64(together)
}

// evaluatedAtEnd returns the number of systems that play at the end of a run.
func evaluatedAtEnd(s spec.Spec) (n int) {
	if s.Evaluation.Base {
		n += min(s.Agents, 2)
	}
	if s.Epochs > 0 {
		n++
	}

	return n
}
