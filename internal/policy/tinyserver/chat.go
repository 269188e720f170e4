package tinyserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/policy/tinylm"
)

// chatRequest holds the members of a request of the OpenAI chat API that the server uses. It ignores other members.
type chatRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	N           *int     `json:"n"`
	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"top_p"`
	Seed        *int64   `json:"seed"`
	MaxTokens   *int     `json:"max_tokens"`
	Stop        any      `json:"stop"`
	LogProbs    bool     `json:"logprobs"`
	Stream      bool     `json:"stream"`
}

// check returns an error if the request cannot be served.
func (q chatRequest) check() error {
	switch {
	case q.Stream:
		return errors.New("stream: answers are a few tokens; streaming is not offered")
	case q.N != nil && (*q.N < 1 || *q.N > 64):
		return fmt.Errorf("n: %d is outside 1..64", *q.N)
	case q.Temperature != nil && (*q.Temperature < 0 || *q.Temperature > 100):
		return fmt.Errorf("temperature: %v is outside 0..100", *q.Temperature)
	case q.TopP != nil && (*q.TopP < 0 || *q.TopP > 1):
		return fmt.Errorf("top_p: %v is outside 0..1", *q.TopP)
	case len(q.Messages) == 0 || q.Messages[len(q.Messages)-1].Role != "user":
		return errors.New("messages: the last message must be the user's")
	}

	return nil
}

// valueOr returns the value that p points to, or d if p is nil.
func valueOr[T any](p *T, d T) T {
	if p == nil {
		return d
	}

	return *p
}

func (q chatRequest) sampling() tinylm.Sampling {
	return tinylm.Sampling{
		N:           valueOr(q.N, 1),
		Temperature: valueOr(q.Temperature, 1),
		TopP:        valueOr(q.TopP, 1),
		Seed:        uint64(valueOr(q.Seed, 0)),
	}
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	var request chatRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		s.fail(w, r, http.StatusBadRequest, err)

		return
	}

	stops, err := stopList(request.Stop)
	err = errors.Join(err, request.check())
	if err != nil {
		s.fail(w, r, http.StatusBadRequest, err)

		return
	}

	pol, err := s.policy(r.Context(), request.Model)
	if err != nil {
		s.fail(w, r, statusOf(err), err)

		return
	}

	// The policy reads the last user message. System messages only contain what its grammar fixes anyway.
	prompt := tinylm.ParsePrompt(request.Messages[len(request.Messages)-1].Content)
	outs, used := pol.Sample(prompt, request.sampling())
	s.recordChat(r, start, request, used)
	httpd.WriteJSON(w, http.StatusOK, request.completion(outs, used, stops))
}

var errStop = errors.New("stop: must be a string or a list of strings")

func stopList(value any) ([]string, error) {
	switch x := value.(type) {
	case nil:
		return nil, nil
	case string:
		return []string{x}, nil
	case []any:
		var out []string
		for _, y := range x {
			text, ok := y.(string)
			if !ok {
				return nil, errStop
			}
			out = append(out, text)
		}

		return out, nil
	}

	return nil, errStop
}

// completion returns the response in the form of the OpenAI API.
func (q chatRequest) completion(outs []tinylm.Output, used tinylm.Counts, stops []string) map[string]any {
	choices := make([]map[string]any, len(outs))
	written := 0
	for i, output := range outs {
		steps, text, reason := q.cut(output, stops)
		written += len(steps)
		choices[i] = map[string]any{
			"index":         i,
			"finish_reason": reason,
			"message":       map[string]any{"role": "assistant", "content": text},
		}

		if q.LogProbs {
			choices[i]["logprobs"] = map[string]any{"content": logProbs(steps)}
		}
	}

	return map[string]any{
		"id":      "chatcmpl-collabui",
		"object":  "chat.completion",
		"created": 0,
		"model":   q.Model,
		"choices": choices,
		"usage": map[string]any{
			"prompt_tokens":         used.Prompt,
			"completion_tokens":     written,
			"total_tokens":          used.Prompt + written,
			"prompt_tokens_details": map[string]any{"cached_tokens": used.Cached},
		},
	}
}

// cut cuts an answer by max_tokens and by stop. A token is one choice of the grammar. The reason is stop or length.
func (q chatRequest) cut(output tinylm.Output, stops []string) (steps []tinylm.StepProb, text, reason string) {
	steps = output.Steps
	text = output.Text
	reason = "stop"
	if n := valueOr(q.MaxTokens, 0); n > 0 && n < len(steps) {
		steps = steps[:n]
		text = ""
		reason = "length"
		for _, st := range steps {
			text += st.Text
		}
	}

	for _, st := range stops {
		if at := strings.Index(text, st); st != "" && at >= 0 {
			text = text[:at]
		}
	}

	return steps, text, reason
}

func logProbs(steps []tinylm.StepProb) []map[string]any {
	var content []map[string]any
	for _, st := range steps {
		content = append(content, map[string]any{"token": st.Text, "logprob": st.LogProb, "top_logprobs": []any{}})
	}

	return content
}
