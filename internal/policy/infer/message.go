package infer

import (
	"encoding/base64"
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
	URL  struct {
		URL string `json:"url"`
	} `json:"image_url"`
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

	text, shot, err := last.read(system)
	if err != nil {
		return agents.View{}, refuse("messages", "messages[%d]: %w", at, err)
	}
	v, err := ParseView(text, system.Spec.Family())
	if err == nil {
		v.Picture.PNG = shot
		err = system.checkPicture(v)
	}
	if err != nil {
		return v, refuse("messages", "messages[%d]: %w", at, err)
	}

	return v, nil
}

// read returns the message's text and its screenshot. It refuses a screenshot that the policies could not see.
func (m message) read(system TrainedSystem) (text string, shot []byte, err error) {
	var s *string
	if json.Unmarshal(m.Content, &s) == nil && s != nil {
		return *s, nil, nil
	}

	var parts []part
	if err := json.Unmarshal(m.Content, &parts); err != nil || parts == nil {
		return "", nil, errors.New("content: expected a text or a list of parts")
	}

	var texts []string
	for _, p := range parts {
		switch {
		case p.Type == "text":
			texts = append(texts, p.Text)
		case p.Type != "image_url" || !system.Spec.Observation.Pictured():
			return "", nil, fmt.Errorf("content: a part of type %q: the policies of %s take no images, only text; "+
				"list the screen's elements", agents.Line(p.Type, 40), system.Run)
		case shot != nil:
			return "", nil, errors.New("content: expected one screenshot, of the present screen")
		default:
			if shot, err = pngOf(p.URL.URL); err != nil {
				return "", nil, err
			}
		}
	}

	return strings.Join(texts, "\n"), shot, nil
}

// pngOf returns the file in a data URL.
func pngOf(url string) ([]byte, error) {
	const head = "data:image/png;base64,"
	raw, ok := strings.CutPrefix(url, head)
	png, err := base64.StdEncoding.DecodeString(raw)
	if !ok || err != nil || len(png) == 0 {
		return nil, fmt.Errorf("content: expected a screenshot as a URL that begins with %q, not %q", head,
			agents.Line(url, 40))
	}

	return png, nil
}
