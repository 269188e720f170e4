package interop

import (
	"cmp"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/records/runs"
)

// Evaluated adds episode n, counted from 1, of an evaluated item. Its record contains no prompts. The vote of the last
// round decided if lastRound is set, and otherwise the vote of all rounds.
func (l *InspectLog) Evaluated(n int, e runs.EvalEpisode, lastRound bool) {
	t := transcript{log: l, uuid: fmt.Sprintf("episode-%d", n), events: []object{}}
	messages := []object{}
	usage := domain.Usage{}
	for i, step := range e.Steps {
		t.begin("step", fmt.Sprintf("step-%d", i+1))
		chosen := step.AllRounds.Canonical
		if lastRound {
			chosen = step.LastRound.Canonical
		}
		for _, c := range step.Cells {
			usage = usage.Plus(c.Usage)
			t.answer(domain.Cell{Agent: c.Agent, Round: c.Round, Text: c.Text, Usage: c.Usage}, l.Model, "", object{
				"agent": c.Agent, "round": c.Round, "canonical": c.Canonical,
				"won": chosen != "" && c.Canonical == chosen,
			})
		}
		t.add("info", object{"source": "vote", "data": object{
			"screen": step.Screen, "all_rounds": step.AllRounds, "last_round": step.LastRound, "right": step.Right,
		}})
		t.end()
		messages = append(messages, object{
			"role": "assistant", "source": "generate",
			"content": cmp.Or(chosen, "No answer of any agent is an action."),
		})
	}
	input := cmp.Or(e.Goal, fmt.Sprintf("%s, %s, seed %d", e.Task.Template, e.Task.Split, e.Task.Seed))
	l.sample(n, object{
		"input": input, "messages": messages, "events": t.events,
		"metadata": object{"task": e.Task, "topology": e.Topology, "outcome": e.Outcome},
	}, e.Outcome, usage, e.Outcome.Void)
}
