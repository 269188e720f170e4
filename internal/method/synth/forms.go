package synth

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// forms lists the members that may hold the prompt, one for each form of a row.
var forms = []string{"prompt", "messages", "conversations", "instruction"}

// essentialMembers lists members of LLaMA-Factory's rows that cannot be dropped without changing the row's meaning,
// with the error.
var essentialMembers = map[string]string{
	"videos": "rows with videos are not supported", "audios": "rows with audio are not supported",
	"tools":   "rows with tools are not supported",
	"history": "expected one turn of the user, without a history",
	"kto_tag": "rows for KTO are not supported: remove the rows with undesired answers, and the member",
}

// form returns the name of the member that holds the prompt.
func (m members) form() (string, error) {
	var found []string
	for _, f := range forms {
		if _, ok := m[f]; ok {
			found = append(found, f)
		}
	}
	switch len(found) {
	case 0:
		return "", errors.New(
			"prompt: expected a text or a list of messages; or messages, conversations or instruction")
	case 1:
		return found[0], nil
	}

	return "", fmt.Errorf("expected one of %s, not %s", strings.Join(forms, ", "), strings.Join(found, " and "))
}

// checkMembers returns an error if the row has a member that can neither be kept nor dropped.
func (m members) checkMembers() error {
	for _, name := range slices.Sorted(maps.Keys(essentialMembers)) {
		if raw, ok := m[name]; ok && !empty(raw) {
			return fmt.Errorf("%s: %s", name, essentialMembers[name])
		}
	}
	if raw := string(m["label"]); raw == "true" || raw == "false" {
		return fmt.Errorf("label: %s", essentialMembers["kto_tag"])
	}

	return nil
}

// empty reports whether a JSON value is an empty text, list or object.
func empty(raw json.RawMessage) bool {
	var list []any
	var object map[string]any

	return string(raw) == `""` || json.Unmarshal(raw, &list) == nil && len(list) == 0 ||
		json.Unmarshal(raw, &object) == nil && len(object) == 0
}

// text returns the text of a member, or "" if the member is missing. Other values are errors.
func (m members) text(name string) (string, error) {
	raw, ok := m[name]
	if !ok {
		return "", nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", fmt.Errorf("%s: expected a text", name)
	}

	return text, nil
}

// alpaca returns the prompt of an Alpaca row, composed as LLaMA-Factory does, and its output. A ranked row must have no
// output.
func (m members) alpaca(ranked bool) (prompt, output string, err error) {
	var texts [3]string
	for i, name := range []string{"instruction", "input", "output"} {
		if texts[i], err = m.text(name); err != nil {
			return "", "", err
		}
	}
	switch output = texts[2]; {
	case ranked && output != "":
		return "", "", errors.New("output: expected either output or chosen")
	case !ranked && output == "":
		return "", "", errors.New("output: expected a text, or chosen and rejected")
	}
	parts := slices.DeleteFunc(texts[:2], func(text string) bool { return text == "" })

	return strings.Join(parts, "\n"), output, nil
}

// turn is a message of a conversation. Its role has OpenAI's name.
type turn struct{ role, content string }

// openAI maps other names of roles to OpenAI's names.
var openAI = map[string]string{"human": "user", "gpt": "assistant"}

// turnOf parses a message with role and content, or with from and value.
func turnOf(raw json.RawMessage, field string) (turn, error) {
	m, err := membersOf(raw, field)
	if err != nil {
		return turn{}, err
	}
	role := "role"
	content := "content"
	if _, ok := m["from"]; ok {
		role = "from"
		content = "value"
	}
	for name, raw := range m {
		if name != role && name != content && !empty(raw) {
			return turn{}, fmt.Errorf("%s.%s: a message with more than %s and %s is not supported",
				field, name, role, content)
		}
	}

	var t turn
	if t.role, err = m.text(role); err != nil {
		return t, fmt.Errorf("%s.%w", field, err)
	}
	if t.content, err = m.text(content); err != nil {
		return t, fmt.Errorf("%s.%w", field, err)
	}
	if known, ok := openAI[t.role]; ok && role == "from" {
		t.role = known
	}

	return t, nil
}

// turnsOf parses a list of messages.
func turnsOf(raw json.RawMessage, field string) ([]turn, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || len(list) == 0 {
		return nil, fmt.Errorf("%s: expected a list of messages", field)
	}
	var out []turn
	for i, raw := range list {
		t, err := turnOf(raw, fmt.Sprintf("%s[%d]", field, i))
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}

	return out, nil
}

// lastTurn splits the assistant's last turn off a conversation.
func lastTurn(turns []turn, field string) (before []turn, answer string, err error) {
	last := len(turns) - 1
	if last < 1 || turns[last].role != "assistant" {
		return nil, "", fmt.Errorf("%s: expected at least two turns, the last one of the assistant", field)
	}
	if turns[last].content == "" {
		return nil, "", fmt.Errorf("%s: the assistant's turn is empty", field)
	}

	return turns[:last], turns[last].content, nil
}

// userOf returns the text of the only user message.
func userOf(turns []turn) (string, error) {
	user := ""
	for _, t := range turns {
		switch {
		case t.role == "system":
		case t.role == "user" && user == "" && t.content != "":
			user = t.content
		default:
			return "", fmt.Errorf(
				"prompt: expected one user message and at most a system message with it; found role %q", t.role)
		}
	}
	if user == "" {
		return "", errors.New("prompt: has no user message")
	}

	return user, nil
}

func hasSystem(turns []turn) bool {
	return slices.ContainsFunc(turns, func(t turn) bool { return t.role == "system" && t.content != "" })
}

// answerOf parses an answer that is a text, a message of the assistant, or a list of one message.
func answerOf(raw json.RawMessage, field string) (string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	if len(list) == 1 {
		t, err := turnOf(list[0], field)
		if err == nil && t.role == "assistant" {
			return t.content, nil
		}
	}

	return "", fmt.Errorf("%s: not a text, a message of the assistant, or a list of one", field)
}
