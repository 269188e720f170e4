package interop

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// The types below are the parts of both formats that pages show. Programs write more, which is skipped.
type (
	inspectHeader struct {
		Eval struct {
			Task  string `json:"task"`
			Model string `json:"model"`
		} `json:"eval"`
	}

	inspectSample struct {
		ID       any                       `json:"id"`
		Epoch    int                       `json:"epoch"`
		Input    json.RawMessage           `json:"input"`
		Messages []inspectTurn             `json:"messages"`
		Scores   map[string]scored         `json:"scores"`
		Error    *struct{ Message string } `json:"error"`
		Usage    map[string]struct {
			Total int `json:"total_tokens"`
		} `json:"model_usage"`
	}

	scored struct {
		Value any `json:"value"`
	}

	inspectTurn struct {
		Role    string  `json:"role"`
		Content content `json:"content"`
		Calls   []struct {
			Function  string          `json:"function"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"tool_calls"`
		Function string                    `json:"function"`
		Error    *struct{ Message string } `json:"error"`
	}

	atifLog struct {
		ID    string `json:"trajectory_id"`
		Agent struct {
			Name  string `json:"name"`
			Model string `json:"model_name"`
		} `json:"agent"`
		Steps []atifTurn `json:"steps"`
		Final struct {
			Prompt     int            `json:"total_prompt_tokens"`
			Completion int            `json:"total_completion_tokens"`
			Extra      map[string]any `json:"extra"`
		} `json:"final_metrics"`
		Subagents []atifLog `json:"subagent_trajectories"`
	}

	atifTurn struct {
		Source    string  `json:"source"`
		Message   content `json:"message"`
		Reasoning string  `json:"reasoning_content"`
		Calls     []struct {
			Function  string          `json:"function_name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"tool_calls"`
		Observation struct {
			Results []struct {
				Content   content   `json:"content"`
				Subagents []atifRef `json:"subagent_trajectory_ref"`
			} `json:"results"`
		} `json:"observation"`
		Metrics map[string]any `json:"metrics"`
	}
)

// readInspectJSON reads a log of Inspect as JSON.
func readInspectJSON(raw []byte) (out []Trajectory, err error) {
	var log struct {
		inspectHeader
		Samples []inspectSample `json:"samples"`
	}
	if err := json.Unmarshal(raw, &log); err != nil {
		return nil, err
	}
	for _, sample := range log.Samples {
		out = append(out, sample.trajectory(log.inspectHeader))
	}

	return out, nil
}

func (s inspectSample) trajectory(header inspectHeader) Trajectory {
	out := Trajectory{Format: "Inspect", ID: fmt.Sprint(s.ID), Task: header.Eval.Task, Model: header.Eval.Model}
	if s.Epoch > 1 {
		out.ID += ", epoch " + strconv.Itoa(s.Epoch)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Scores)) {
		out.Scores = append(out.Scores, fmt.Sprintf("%s %v", name, s.Scores[name].Value))
	}
	for _, usage := range s.Usage {
		out.Tokens += usage.Total
	}
	if s.Error != nil {
		out.Error = s.Error.Message
	}
	for _, turn := range s.Messages {
		message := Message{
			Role: turn.Role, Text: turn.Content.text, Reasoning: turn.Content.reasoning, Images: turn.Content.images,
		}
		for _, call := range turn.Calls {
			message.Calls = append(message.Calls, ToolCall{Name: call.Function, Arguments: string(call.Arguments)})
		}
		if turn.Function != "" {
			message.Role += " " + turn.Function
		}
		if turn.Error != nil {
			message.Results = append(message.Results, turn.Error.Message)
		}
		out.Turns = append(out.Turns, message)
	}

	return out
}

// readATIF reads a trajectory of ATIF.
func readATIF(raw []byte) (Trajectory, error) {
	var log atifLog
	if err := json.Unmarshal(raw, &log); err != nil {
		return Trajectory{}, err
	}
	out := Trajectory{
		Format: "ATIF", ID: log.ID, Agent: log.Agent.Name, Model: log.Agent.Model,
		Tokens: log.Final.Prompt + log.Final.Completion,
	}
	for _, name := range slices.Sorted(maps.Keys(log.Final.Extra)) {
		switch value := log.Final.Extra[name].(type) {
		case bool, float64:
			out.Scores = append(out.Scores, fmt.Sprintf("%s %v", name, value))
		}
	}
	inner := map[string]atifLog{}
	for _, subagent := range log.Subagents {
		inner[subagent.ID] = subagent
	}
	out.Turns = atifTurns(log.Steps, inner)
	for _, turn := range out.Turns {
		if turn.Role == "user" {
			out.Task = cmp.Or(out.Task, turn.Text)
		}
	}

	return out, nil
}

// atifTurns returns the turns of a trajectory and of the sub-agents that it refers to.
func atifTurns(steps []atifTurn, inner map[string]atifLog) (out []Message) {
	for _, step := range steps {
		message := Message{
			Role: step.Source, Text: step.Message.text, Images: step.Message.images,
			Reasoning: step.Message.reasoning + step.Reasoning,
		}
		for _, call := range step.Calls {
			message.Calls = append(message.Calls, ToolCall{Name: call.Function, Arguments: string(call.Arguments)})
		}
		for _, result := range step.Observation.Results {
			if result.Content.text != "" {
				message.Results = append(message.Results, result.Content.text)
			}
			message.Images = append(message.Images, result.Content.images...)
			for _, ref := range result.Subagents {
				if subagent, known := inner[ref.ID]; known {
					message.Inner = append(message.Inner, Inner{Name: ref.ID, Turns: atifTurns(subagent.Steps, nil)})
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(step.Metrics)) {
			if value, ok := step.Metrics[name].(float64); ok {
				message.Facts = append(message.Facts, ToolValue{name, strconv.FormatFloat(value, 'g', -1, 64)})
			}
		}
		out = append(out, message)
	}

	return out
}
