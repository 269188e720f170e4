package llm

import (
	"cmp"
	"encoding/json"
	"strings"
)

// messageTexts holds the texts of a message by kind.
type messageTexts struct{ answer, thought, refused string }

// maxNested bounds the nesting of a message's parts. A thought is a list of parts in a part in a list.
const maxNested = 6

// textOf returns the texts of a message's content, which is a text, a part, or a list of them. Parts other than texts,
// thoughts and refusals are ignored. Any other value is an answer in JSON.
func textOf(raw json.RawMessage, nested int) messageTexts {
	var text string
	switch {
	case isAbsent(raw), nested > maxNested:
		return messageTexts{}
	case json.Unmarshal(raw, &text) == nil:
		return messageTexts{answer: text}
	case raw[0] == '{':
		return partOf(raw, nested)
	case raw[0] != '[':
		return messageTexts{answer: string(raw)}
	}

	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // it is a list

	var sum messageTexts
	for _, part := range list {
		one := textOf(part, nested+1)
		sum.answer += one.answer
		sum.thought += one.thought
		sum.refused += one.refused
	}

	return sum
}

// partOf returns the texts of one part.
func partOf(raw json.RawMessage, nested int) messageTexts {
	var part struct {
		Type, Text, Value, Thinking, Reasoning, Content, Summary, Refusal json.RawMessage
	}
	_ = json.Unmarshal(raw, &part) // an object: no member can have a wrong type
	inside := func(members ...json.RawMessage) string {
		for _, member := range members {
			if !isAbsent(member) {
				all := textOf(member, nested+1)

				return all.thought + all.answer
			}
		}

		return ""
	}

	kind := strings.ToLower(strings.Trim(string(part.Type), `"`))
	switch {
	case nested == 0 && isAbsent(part.Type): // an answer in JSON, which the server has decoded
		return messageTexts{answer: string(raw)}
	case strings.Contains(kind, "think"), strings.Contains(kind, "reason"),
		isAbsent(part.Type) && !(isAbsent(part.Thinking) && isAbsent(part.Reasoning)):
		return messageTexts{thought: inside(part.Thinking, part.Reasoning, part.Text, part.Content, part.Summary)}
	case kind == "refusal":
		return messageTexts{refused: inside(part.Refusal, part.Text)}
	case strings.Contains(kind, "text"), isAbsent(part.Type) && !(isAbsent(part.Text) && isAbsent(part.Value)):
		return messageTexts{answer: inside(part.Text, part.Value, part.Content)}
	}

	return messageTexts{}
}

// unnamed replaces the name of a tool that is called without one.
const unnamed = "(without a name)"

// toolIn returns the name of the tool that a message's first call is for, or "" without a call.
func toolIn(raw json.RawMessage) string {
	type named struct {
		Name     string
		Function struct{ Name string }
	}
	var one named
	var list []named
	switch {
	case isEmpty(raw):
		return ""
	case raw[0] == '[':
		_ = json.Unmarshal(raw, &list) // calls of another form have no name
		if len(list) > 0 {
			one = list[0]
		}
	default:
		_ = decodeObject(raw, &one)
	}

	return cmp.Or(one.Function.Name, one.Name, unnamed)
}
