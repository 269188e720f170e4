package infer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/policy/serving"
)

// chatRequest is what the server takes of a request of the OpenAI chat API. It refuses any other member, because it
// would have no effect.
type chatRequest struct {
	Model               string            `json:"model"`
	Messages            []json.RawMessage `json:"messages"`
	Seed                int64             `json:"seed"`
	Temperature         *float64          `json:"temperature"`
	TopP                *float64          `json:"top_p"`
	N                   *int              `json:"n"`
	MaxTokens           *int              `json:"max_tokens"`
	MaxCompletionTokens *int              `json:"max_completion_tokens"`
	Stream              bool              `json:"stream"`
	User                string            `json:"user"`
	Collabui            struct {
		Matrix bool `json:"matrix"`
	} `json:"collabui"`
}

// members lists the members of a request for people.
const members = "model, messages, seed, temperature, top_p, n (1), max_tokens, max_completion_tokens, " +
	"stream (false), user and collabui"

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

// refuse returns the refusal of a request with a wrong member.
func refuse(param, format string, args ...any) error {
	return &serving.Refusal{Status: http.StatusBadRequest, Param: param, Err: fmt.Errorf(format, args...)}
}

// read decodes a request and checks all of it but the model's name and the form of the messages.
func (q *chatRequest) read(r io.Reader) error {
	if err := strict(r, q); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return serving.Refuse(http.StatusRequestEntityTooLarge,
				"the request is larger than %d bytes", tooLarge.Limit)
		}

		return refuse("", "%w: expected one JSON object with %s", err, members)
	}

	switch {
	case q.Stream:
		return refuse("stream", "stream: a decision is made as a whole; streaming is not offered")
	case q.N != nil && *q.N != 1:
		return refuse("n", "n: the system decides once; expected 1, not %d", *q.N)
	case q.Temperature != nil && (*q.Temperature < 0 || *q.Temperature > 10):
		return refuse("temperature", "temperature: expected a number from 0 to 10, not %v", *q.Temperature)
	case q.TopP != nil && (*q.TopP < 0 || *q.TopP > 1):
		return refuse("top_p", "top_p: expected a number from 0 to 1, not %v", *q.TopP)
	case q.MaxTokens != nil && *q.MaxTokens < 1, q.MaxCompletionTokens != nil && *q.MaxCompletionTokens < 1:
		return refuse("max_tokens", "max_tokens: expected a whole number from 1; it bounds every agent's answer")
	}

	return nil
}

func (q *chatRequest) options() Options {
	o := Options{Seed: uint64(q.Seed), Temperature: q.Temperature, TopP: q.TopP, Whole: q.Collabui.Matrix}
	for _, n := range []*int{q.MaxTokens, q.MaxCompletionTokens} {
		if n != nil {
			o.MaxTokens = *n
		}
	}

	return o
}

// view reads the last user message. It ignores earlier ones and system messages: the agents' own prompts say all that
// they are told.
func (q *chatRequest) view(s System) (agents.View, error) {
	for i := len(q.Messages) - 1; i >= 0; i-- {
		var m message
		if err := json.Unmarshal(q.Messages[i], &m); err != nil {
			return agents.View{}, refuse("messages", "messages[%d]: %w", i, err)
		}
		if m.Role != "user" {
			continue
		}

		text, err := m.text(s.Run)
		if err != nil {
			return agents.View{}, refuse("messages", "messages[%d]: %w", i, err)
		}

		v, err := ParseView(text, s.Spec.Family())
		if err != nil {
			return v, refuse("messages", "messages[%d]: %w", i, err)
		}

		return v, nil
	}

	return agents.View{}, refuse("messages", "messages: none is the user's; %s", Forms)
}

// text returns the message's text. It refuses images, because the policies could not see them.
func (m message) text(run string) (string, error) {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s, nil
	}

	var parts []part
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return "", errors.New("content: expected a text or a list of parts")
	}

	var texts []string
	for _, p := range parts {
		if p.Type != "text" {
			return "", fmt.Errorf("content: a part of type %q: the policies of %s take no images, only text; "+
				"list the screen's elements", p.Type, run)
		}
		texts = append(texts, p.Text)
	}

	return strings.Join(texts, "\n"), nil
}
