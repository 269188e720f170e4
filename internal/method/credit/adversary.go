package credit

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/collabui/collabui/internal/method/chat"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/prompts"
)

// ModelAdversary asks a chat model for plausible wrong answers (METHOD.md section 4, adversary).
type ModelAdversary struct {
	Chat        chat.Model
	Prompt      *prompts.Prompt
	Forms       prompts.Forms
	Temperature float64
	TopP        float64
}

// answersSchema is the form of an adversary's answer. Actions differ in their fields, so that their form is left to the parser.
func answersSchema(n int) *chat.Schema {
	return &chat.Schema{Name: "answers", JSON: json.RawMessage(fmt.Sprintf(`{"type":"object","required":["answers"],"properties":{"answers":{"type":"array","minItems":%d,"maxItems":%d,"items":`+
		`{"type":"object","required":["reason","action"],"properties":{"reason":{"type":"string"},"action":{"type":"object"}}}}}}`, n, n))}
}

// Propose gives n answers to the prompt of a positive cell, in the form in which agents answer, so that their style gives nothing away. What the model's answer lacks or
// gets wrong is an empty text: it does not parse, and is counted as such. The call may be repeated.
func (m ModelAdversary) Propose(ctx context.Context, s domain.Step, cell domain.Cell, n int, seed uint64) ([]string, domain.Usage, error) {
	sys, user, err := m.Prompt.Messages(struct {
		prompts.Forms
		view
		Right string
		N     int
	}{m.Forms, seen(s), agents.Line(cell.Action.JSON(), maxCell), n})
	if err != nil {
		return nil, domain.Usage{}, err
	}
	r, err := m.Chat.Complete(ctx, chat.Request{System: sys, User: user, Schema: answersSchema(n), Temperature: m.Temperature, TopP: m.TopP, Seed: seed, N: 1})
	if err != nil {
		return nil, r.Usage, err
	}
	out := make([]string, n)
	raw, ok := agents.FindObject(r.Texts[0], "answers")
	if !ok {
		return out, r.Usage, nil
	}
	var answer struct {
		Answers []json.RawMessage `json:"answers"`
	}
	if json.Unmarshal([]byte(raw), &answer) != nil {
		return out, r.Usage, nil
	}
	for i, x := range answer.Answers[:min(n, len(answer.Answers))] {
		var one struct {
			Reason string          `json:"reason"`
			Action json.RawMessage `json:"action"`
		}
		if json.Unmarshal(x, &one) != nil {
			continue
		}
		if a, err := domain.ParseAction(one.Action); err == nil {
			out[i] = "Reason: " + agents.Line(one.Reason, maxReason) + "\nAction: " + a.JSON()
		}
	}
	return out, r.Usage, nil
}

// view is what every judging role sees of a step.
type view struct {
	Goal            string
	History, Screen []string
}

func seen(s domain.Step) view {
	v := view{Goal: agents.Line(s.Goal, maxGoal), Screen: agents.Lines(s.Observation)}
	for _, h := range s.History {
		v.History = append(v.History, agents.Line(h, maxLine))
	}
	return v
}
