package interop

import (
	"encoding/json"
	"fmt"

	"github.com/collabui/collabui/domain"
)

// atifVersion is the version of the format.
const atifVersion = "ATIF-v1.8"

// The types below are the part of Harbor's Agent Trajectory Interchange Format that an episode needs.
type (
	atifTrajectory struct {
		Version string         `json:"schema_version"`
		Session string         `json:"session_id,omitempty"`
		ID      string         `json:"trajectory_id"`
		Agent   atifAgent      `json:"agent"`
		Steps   []atifStep     `json:"steps"`
		Notes   string         `json:"notes,omitempty"`
		Final   *atifFinal     `json:"final_metrics,omitempty"`
		Extra   map[string]any `json:"extra,omitempty"`

		Subagents []atifTrajectory `json:"subagent_trajectories,omitempty"`
	}

	atifAgent struct {
		Name    string         `json:"name"`
		Version string         `json:"version"`
		Model   string         `json:"model_name,omitempty"`
		Extra   map[string]any `json:"extra,omitempty"`
	}

	atifStep struct {
		ID          int              `json:"step_id"`
		Source      string           `json:"source"`
		Message     string           `json:"message"`
		Reasoning   string           `json:"reasoning_content,omitempty"`
		Calls       []atifCall       `json:"tool_calls,omitempty"`
		Observation *atifObservation `json:"observation,omitempty"`
		Metrics     *atifMetrics     `json:"metrics,omitempty"`
		Inferences  *int             `json:"llm_call_count,omitempty"`
		Extra       map[string]any   `json:"extra,omitempty"`
	}

	atifCall struct {
		ID        string        `json:"tool_call_id"`
		Function  string        `json:"function_name"`
		Arguments domain.Action `json:"arguments"`
	}

	atifObservation struct {
		Results []atifResult `json:"results"`
	}

	atifResult struct {
		Call      string    `json:"source_call_id,omitempty"`
		Content   string    `json:"content,omitempty"`
		Subagents []atifRef `json:"subagent_trajectory_ref,omitempty"`
	}

	atifRef struct {
		ID string `json:"trajectory_id"`
	}

	atifMetrics struct {
		Prompt     int            `json:"prompt_tokens"`
		Completion int            `json:"completion_tokens"`
		Cached     int            `json:"cached_tokens,omitempty"`
		Extra      map[string]any `json:"extra,omitempty"`
	}

	atifFinal struct {
		Prompt     int            `json:"total_prompt_tokens"`
		Completion int            `json:"total_completion_tokens"`
		Cached     int            `json:"total_cached_tokens,omitempty"`
		Steps      int            `json:"total_steps"`
		Extra      map[string]any `json:"extra,omitempty"`
	}
)

const atifNotes = "The agents of a decision are sub-agents, with a trajectory for each step and agent: a user and " +
	"an agent step for each round in which the agent was asked, with the critic's label in extra. This trajectory " +
	"has the goal, the first screen and the executed actions; total_steps counts the actions."

// ATIF returns an episode as a trajectory. Each agent of a decision is a sub-agent, whose trajectory is embedded.
// version is the version of this program.
func ATIF(e Episode, version string) ([]byte, error) {
	trajectory := atifTrajectory{
		Version: atifVersion, Session: e.id(), ID: e.id(), Notes: atifNotes,
		Agent: atifAgent{
			Name: "collabui", Version: version, Model: e.system(),
			Extra: map[string]any{"agents": e.Topology.Agents, "rounds": e.Rounds, "edges": e.Topology.Edges},
		},
		Steps: []atifStep{{ID: 1, Source: "user", Message: e.Record.Goal}},
		Extra: e.task(),
	}
	if len(e.Steps) > 0 {
		trajectory.Steps = append(trajectory.Steps, atifStep{
			ID: 2, Source: "system", Message: "This is the first screen.",
			Observation: &atifObservation{[]atifResult{{Content: screen(e.Steps[0].Observation)}}},
		})
	}
	for i, s := range e.Steps {
		step, subagents := e.atifDecision(i, version)
		step.ID = len(trajectory.Steps) + 1
		result := atifResult{Content: e.after(i)}
		if len(step.Calls) > 0 {
			result.Call = step.Calls[0].ID
		}
		step.Observation.Results = append(step.Observation.Results, result)
		step.Extra = map[string]any{
			"step": s.Number, "all_rounds": s.Decision.AllRound, "last_round": s.Decision.LastOnly,
		}
		trajectory.Steps = append(trajectory.Steps, step)
		trajectory.Subagents = append(trajectory.Subagents, subagents...)
	}
	usage := e.usage()
	trajectory.Final = &atifFinal{
		Prompt: usage.Prompt, Completion: usage.Answer, Cached: usage.Cached, Steps: len(e.Steps),
		Extra: map[string]any{"success": e.Record.Outcome.Success, "outcome": e.Record.Outcome},
	}

	return json.Marshal(trajectory)
}

// atifDecision returns step i, counted from 0, and the trajectories of its agents. No model chooses the executed
// action, because votes are counted.
func (e Episode) atifDecision(i int, version string) (atifStep, []atifTrajectory) {
	s := e.Steps[i]
	none := 0
	step := atifStep{
		Source: "agent", Message: verdict(s), Inferences: &none, Observation: &atifObservation{},
	}
	if vote(s).Canonical != "" {
		step.Calls = []atifCall{call(fmt.Sprintf("step-%d", s.Number), s.Decision.Executed)}
	}
	var subagents []atifTrajectory
	var refs []atifRef
	for agent := range e.Topology.Agents {
		if trajectory := e.atifAgent(i, agent, version); trajectory.Steps != nil {
			subagents = append(subagents, trajectory)
			refs = append(refs, atifRef{trajectory.ID})
		}
	}
	if refs != nil {
		step.Observation.Results = []atifResult{{Content: "The agents answered.", Subagents: refs}}
	}

	return step, subagents
}

// atifAgent returns the prompts and answers of an agent at step i. It has no steps if the agent was not called.
func (e Episode) atifAgent(i, agent int, version string) atifTrajectory {
	step := e.Steps[i]
	t := atifTrajectory{
		Version: atifVersion, ID: fmt.Sprintf("step-%d/agent-%d", step.Number, agent),
		Agent: atifAgent{Name: fmt.Sprintf("agent-%d", agent), Version: version, Model: e.policy(agent)},
		Extra: map[string]any{"step": step.Number, "agent": agent, "reads": e.Topology.Preds(agent)},
	}
	for cell, c := range step.Decision.Cells {
		if c.Agent != agent || c.Prompt == "" {
			continue
		}
		if t.Steps == nil && e.Message != "" {
			t.Steps = []atifStep{{ID: 1, Source: "system", Message: e.Message}}
		}
		t.Steps = append(t.Steps, atifStep{ID: len(t.Steps) + 1, Source: "user", Message: c.Prompt})
		answer := e.atifAnswer(i, cell)
		answer.ID = len(t.Steps) + 1
		t.Steps = append(t.Steps, answer)
	}

	return t
}

// policy returns the name of an agent's model.
func (e Episode) policy(agent int) string {
	if agent < len(e.Policies) {
		return e.Policies[agent]
	}

	return ""
}

// atifAnswer returns an agent's answer in a cell of step i. The proposed action is not executed, so it has no result.
func (e Episode) atifAnswer(i, cell int) atifStep {
	s := e.Steps[i]
	c := s.Decision.Cells[cell]
	calls := max(1, c.Calls)
	answer := atifStep{
		Source: "agent", Message: c.Text, Reasoning: c.Thought, Inferences: &calls, Extra: e.facts(i, cell),
		Metrics: &atifMetrics{Prompt: c.Usage.Prompt, Completion: c.Usage.Answer, Cached: c.Usage.Cached},
	}
	if c.LogProb != 0 {
		answer.Metrics.Extra = map[string]any{"logprob_sum": c.LogProb}
	}
	if c.Action != nil {
		answer.Calls = []atifCall{call(fmt.Sprintf("step-%d/agent-%d/round-%d", s.Number, c.Agent, c.Round), *c.Action)}
	}

	return answer
}

func call(id string, action domain.Action) atifCall {
	return atifCall{ID: id, Function: action.Type, Arguments: action}
}
