// Package chat defines the request and the response of a chat completion and the interface of models that answer them.
// The agents, the critic, the adversary and the authors of stage 1 use it; internal/policy/llm is the HTTP client.
//
// It does no I/O.
package chat

import (
	"context"
	"encoding/json"

	"github.com/collabui/collabui/domain"
)

// Request is a request for a chat completion.
type Request struct {
	Model       string // a policy digest, or the name of a chat endpoint
	System      string
	User        string
	More        []Turn  // turns after the user's message: an answer to be repaired, and what is wrong with it
	Images      []Image // shown with the user's message, after its text
	Schema      *Schema // schema of a JSON answer, if the server supports it
	Temperature float64
	TopP        float64
	MaxTokens   int
	Seed        uint64
	N           int
}

// CharsPerToken is the approximate number of characters per token in language models' prompts about screens.
const CharsPerToken = 4

// Turn is a message after the first user message.
type Turn struct {
	Assistant bool // whether it is the assistant's message instead of the user's
	Text      string
}

// Schema is a JSON schema with a name. Strict makes the server follow it exactly. Servers refuse a strict schema that
// has optional or open members.
type Schema struct {
	Name   string
	JSON   json.RawMessage
	Strict bool
}

// Response holds the N answers.
type Response struct {
	Texts     []string
	Reasoning []string  // thoughts of a reasoning model before each answer, or nil
	LogProbs  []float64 // log-probability of each answer, summed over its tokens; nil if the server returns none
	Usage     domain.Usage

	Cut bool // whether an answer was cut at the maximum number of tokens

	// LeftOut holds the parameters that were left out because the server refuses them, with its error messages.
	LeftOut map[string]string

	// OnRead is called by Read. It may be nil.
	OnRead func(wrong string) `json:"-"`
}

// Read reports whether the caller could use the answers: wrong is the reason why it could not, or empty.
func (r Response) Read(wrong string) {
	if r.OnRead != nil {
		r.OnRead(wrong)
	}
}

//go:generate go tool mockgen -destination=mock_chat/model.go -source=chat.go Model

// Model is a language model behind a chat endpoint. A call may be repeated.
type Model interface {
	Complete(ctx context.Context, r Request) (Response, error)
}
