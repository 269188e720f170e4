package synth

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/prompts"
)

// Model is an author that is a chat model. Its answers are treated as data: they are parsed tolerantly, validated and
// bounded.
type Model struct {
	Chat        chat.Model
	Prompt      *prompts.Prompt // prompt of the role questions or instructions
	Images      bool            // whether the model accepts screenshots
	Temperature float64
	Forms       prompts.Forms
	Limits      agents.Limits // of what the model reads of a screen
}

// Questions requests items of level 1.
func (m Model) Questions(ctx context.Context, screen Screen, n int, seed uint64) ([]Item, bool, error) {
	data := m.data(screen, n)
	if screen.Action != nil {
		data.Executed = m.Limits.Summarise(screen.Step, *screen.Action, screen.Observation, "")
		if screen.After != nil {
			data.After = m.Limits.Lines(*screen.After)
		}
	}

	return m.propose(ctx, prompts.Questions, data, screen, seed, question)
}

// Instructions requests items of level 2.
func (m Model) Instructions(ctx context.Context, screen Screen, n int, seed uint64) ([]Item, bool, error) {
	return m.propose(ctx, prompts.Instructions, m.data(screen, n), screen, seed, instruction)
}

// screenData is the data of both roles' templates.
type screenData struct {
	prompts.Forms
	Screen, After []string
	Executed      string
	N             int
	Images        bool
}

func (m Model) data(s Screen, n int) screenData {
	return screenData{Screen: m.Limits.Lines(s.Observation), N: n, Forms: m.Forms, Images: m.Images && s.Image != ""}
}

// propose makes the only call about a screen and parses its answer.
func (m Model) propose(
	ctx context.Context, role string, data screenData, screen Screen, seed uint64, item func(json.RawMessage) Item,
) ([]Item, bool, error) {
	sys, user, err := m.Prompt.Messages(data)
	if err != nil {
		return nil, false, err
	}
	request := chat.Request{
		System:      sys,
		User:        user,
		Schema:      itemsSchema(role, data.N),
		Temperature: m.Temperature,
		TopP:        1,
		Seed:        domain.Seed(seed, role),
		N:           1,
	}
	if data.Images {
		request.Images = chat.Stored(screen.Image)
	}
	response, err := m.Chat.Complete(ctx, request)
	if err != nil {
		return nil, false, err
	}

	items, ok := parse(response.Texts[0], data.N, item)
	wrong := ""
	if !slices.ContainsFunc(items, func(x Item) bool { return x.Ask != "" }) {
		wrong = "no entry of its list of items can be read"
	}
	response.Read(wrong)

	return items, ok, nil
}

// itemsSchema returns the schema of an author's answer with up to n items, by role.
func itemsSchema(role string, n int) *chat.Schema {
	item := `{"type":"object","required":["kind","question","answer"],"properties":{` +
		`"kind":{"type":"string","enum":["` + strings.Join(Kinds, `","`) + `"]},` +
		`"question":{"type":"string"},"answer":{"type":"string"},"element":{"type":"integer"}}}`
	if role == prompts.Instructions {
		item = `{"type":"object","required":["instruction","reason","action"],"properties":{` +
			`"instruction":{"type":"string"},"reason":{"type":"string"},"action":{"type":"object"}}}`
	}
	const form = `{"type":"object","required":["items"],` +
		`"properties":{"items":{"type":"array","minItems":1,"maxItems":%d,"items":%s}}}`

	return &chat.Schema{Name: role, JSON: json.RawMessage(fmt.Sprintf(form, n, item))}
}

// parse reads the first n items of an answer and ignores the rest. An entry that cannot be read becomes an empty item,
// which is later dropped and counted. ok is false if the answer has no list.
func parse(text string, n int, item func(json.RawMessage) Item) (items []Item, ok bool) {
	raw, ok := agents.FindObject(text, "items")
	if !ok {
		return nil, false
	}
	var answer struct {
		Items []json.RawMessage `json:"items"`
	}
	if json.Unmarshal([]byte(raw), &answer) != nil {
		return nil, false
	}
	for _, rawMessage := range answer.Items[:min(n, len(answer.Items))] {
		items = append(items, item(rawMessage))
	}

	return items, true
}

// question parses an item of level 1.
func question(raw json.RawMessage) Item {
	var x struct {
		Kind, Question, Answer string
		Element                json.RawMessage
	}
	if json.Unmarshal(raw, &x) != nil {
		return Item{}
	}

	it := Item{
		Kind:   strings.ToLower(strings.TrimSpace(x.Kind)),
		Ask:    agents.Line(x.Question, maxAsk),
		Answer: agents.Line(x.Answer, maxAnswer),
	}
	if len(x.Element) > 0 && string(x.Element) != "null" {
		element, err := agents.WholeNumber(x.Element)
		if err != nil {
			return Item{}
		}
		it.Element = &element
	}

	return it
}

// instruction parses an item of level 2. Whether the screen allows its action is checked later.
func instruction(raw json.RawMessage) Item {
	var x struct {
		Instruction, Reason string
		Action              json.RawMessage
	}
	if json.Unmarshal(raw, &x) != nil {
		return Item{}
	}
	it := Item{Ask: agents.Line(x.Instruction, maxAsk), Reason: agents.Line(x.Reason, maxReason)}
	if action, _, err := agents.ReadAction(x.Action); err == nil {
		it.Action = &action
	}

	return it
}
