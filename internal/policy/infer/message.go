package infer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/collabui/collabui/internal/method/agents"
)

// message is a message of a conversation.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// part is a part of a message's content.
type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// instructs reports whether a message instructs the model how to answer.
func (m message) instructs() bool { return slices.Contains([]string{"system", "developer"}, m.Role) }

// view reads the user's message, which must be the last one. It ignores earlier messages and instructions, because the
// agents' own prompts contain all their instructions.
func (q *chatRequest) view(system TrainedSystem) (agents.View, error) {
	last := message{}
	at := -1
	for i, raw := range q.Messages {
		var m message
		if err := json.Unmarshal(raw, &m); err != nil || m.Role == "" {
			return agents.View{}, refuse("messages",
				`messages[%d]: expected {"role": …, "content": …}, not %s`, i, agents.Line(string(raw), 60))
		}
		if !m.instructs() {
			last = m
			at = i
		}
	}

	switch {
	case at < 0:
		return agents.View{}, refuse("messages", "messages: none is the user's; %s", Forms)
	case last.Role != "user":
		return agents.View{}, refuse("messages", "messages[%d]: the last message must be the user's, not one of the %s",
			at, agents.Line(last.Role, 20))
	}

	text, err := last.text(system.Run)
	if err != nil {
		return agents.View{}, refuse("messages", "messages[%d]: %w", at, err)
	}
	v, err := ParseView(text, system.Spec.Family())
	if err != nil {
		return v, refuse("messages", "messages[%d]: %w", at, err)
	}

	return v, nil
}

// text returns the message's text. It refuses images, because the policies could not see them.
func (m message) text(run string) (string, error) {
	var s *string
	if json.Unmarshal(m.Content, &s) == nil && s != nil {
		return *s, nil
	}

	var parts []part
	if err := json.Unmarshal(m.Content, &parts); err != nil || parts == nil {
		return "", errors.New("content: expected a text or a list of parts")
	}

	var texts []string
	for _, p := range parts {
		if p.Type != "text" {
			return "", fmt.Errorf("content: a part of type %q: the policies of %s take no images, only text; "+
				"list the screen's elements", agents.Line(p.Type, 40), run)
		}
		texts = append(texts, p.Text)
	}

	return strings.Join(texts, "\n"), nil
}
