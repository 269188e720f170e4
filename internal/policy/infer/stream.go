package infer

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// chunk is a part of a streamed answer.
type chunk struct {
	ID       string     `json:"id"`
	Object   string     `json:"object"`
	Created  int64      `json:"created"`
	Model    string     `json:"model"`
	Choices  []change   `json:"choices"`
	Usage    *usage     `json:"usage"`
	Collabui *Extension `json:"collabui,omitempty"` // in the last chunk with a choice
}

// change is what a chunk adds to a choice.
type change struct {
	Index        int     `json:"index"`
	Delta        delta   `json:"delta"`
	FinishReason *string `json:"finish_reason"`
}

type delta struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

// stream writes the answer as server-sent events. The decision is complete, so the events are sent without delay: the
// role, the text, the finish reason and, if withUsage is set, the usage.
func (a Answer) stream(w http.ResponseWriter, withUsage bool) {
	choice := a.Choices[0]
	empty := ""
	chunks := []chunk{
		{Choices: []change{{Delta: delta{Role: choice.Message.Role, Content: &empty}}}},
		{Choices: []change{{Delta: delta{Content: &choice.Message.Content}}}},
		{Choices: []change{{FinishReason: &choice.FinishReason}}, Collabui: &a.Collabui},
	}
	if withUsage {
		chunks = append(chunks, chunk{Choices: []change{}, Usage: &a.Usage})
	}

	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	for _, c := range chunks {
		c.ID = a.ID
		c.Object = "chat.completion.chunk"
		c.Created = a.Created
		c.Model = a.Model
		raw, _ := json.Marshal(c) // texts and numbers always marshal
		if _, err := fmt.Fprintf(w, "data: %s\n\n", raw); err != nil {
			return // the client is gone
		}
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}
