package credit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/prompts"
)

// ModelAdversary is an adversary that is a chat model (docs/method.md, Adversary).
type ModelAdversary struct {
	Chat        chat.Model
	Prompt      *prompts.Prompt
	Forms       prompts.Forms
	Temperature float64
	TopP        float64
	Limits      agents.Limits // of what the model reads of a step
}

// Propose requests n wrong answers for a positive cell. The request depends only on the step, the cell's canonical
// action and the seed, so agents with the same right action can share it. The answers have the form in which agents
// answer, so their style reveals nothing. An answer that is missing or malformed is an empty text, which does not parse
// and is counted as such. Errors are errors of the endpoint. The call may be repeated.
func (m ModelAdversary) Propose(
	ctx context.Context, step domain.Step, cell domain.Cell, n int, seed uint64,
) ([]string, domain.Usage, error) {
	sys, user, err := m.Prompt.Messages(struct {
		prompts.Forms
		view
		Right string
		N     int
	}{
		Forms: m.Forms, view: viewOf(step, m.Limits), N: n,
		Right: agents.ShortenAnswer(wordingOf(step, cell), maxCell(m.Limits)),
	})
	if err != nil {
		return nil, domain.Usage{}, err
	}

	response, err := m.Chat.Complete(ctx, chat.Request{
		System:      sys,
		User:        agents.WithPicture(user, step.Decision.Image),
		Images:      chat.Stored(step.Decision.Image),
		Schema:      answersSchema(n),
		Temperature: m.Temperature,
		TopP:        m.TopP,
		Seed:        seed,
		N:           1,
	})
	if err != nil {
		return nil, response.Usage, err
	}

	out := parseAnswers(response.Texts[0], n)
	wrong := ""
	if strings.Join(out, "") == "" {
		wrong = "no action of its list of answers can be read"
	}
	response.Read(wrong)

	return out, response.Usage, nil
}

// wordingOf returns the JSON of the action of the first cell of a step with the canonical action of a cell.
func wordingOf(step domain.Step, cell domain.Cell) string {
	for _, first := range step.Decision.Cells {
		if first.Action != nil && first.Canonical == cell.Canonical {
			return first.Action.JSON()
		}
	}

	return cell.Action.JSON()
}

// answersSchema returns the schema of an adversary's n answers. The fields of actions differ by type, so the parser
// checks them.
func answersSchema(n int) *chat.Schema {
	const form = `{"type":"object","required":["answers"],` +
		`"properties":{"answers":{"type":"array","minItems":%d,"maxItems":%d,"items":` +
		`{"type":"object","required":["reason","action"],` +
		`"properties":{"reason":{"type":"string"},"action":{"type":"object"}}}}}}`

	return &chat.Schema{Name: "answers", JSON: json.RawMessage(fmt.Sprintf(form, n, n))}
}

// parseAnswers reads an adversary's answer as n texts. A text is empty where no action can be read.
func parseAnswers(text string, n int) []string {
	out := make([]string, n)
	raw, ok := agents.FindObject(text, "answers")
	if !ok {
		return out
	}
	var answer struct {
		Answers []json.RawMessage `json:"answers"`
	}
	if json.Unmarshal([]byte(raw), &answer) != nil {
		return out
	}

	for i, rawMessage := range answer.Answers[:min(n, len(answer.Answers))] {
		var entry struct {
			Reason string          `json:"reason"`
			Action json.RawMessage `json:"action"`
		}
		if json.Unmarshal(rawMessage, &entry) != nil {
			continue
		}
		if action, _, err := agents.ReadAction(entry.Action); err == nil {
			out[i] = "Reason: " + agents.Line(entry.Reason, maxReason) + "\nAction: " + action.JSON()
		}
	}

	return out
}
