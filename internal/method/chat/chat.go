// Package chat holds the request and the response of a chat completion and the interface of models that answer them.
// The agents, the critic, the adversary and the authors of stage 1 use it; internal/policy/llm is the HTTP client.
//
// It does no I/O.
package chat

import (
	"context"
	"encoding/json"

	"github.com/collabui/collabui/domain"
)

// Request is one chat completion.
type Request struct {
	Model       string // a policy digest, or the name of a chat endpoint
	System      string
	User        string
	More        []Turn   // turns after the user's message: an answer to be repaired, and what is wrong with it
	Images      [][]byte // PNG, shown with the user's message
	Schema      *Schema  // the form of a JSON answer, if the server supports it
	Temperature float64
	TopP        float64
	MaxTokens   int
	Seed        uint64
	N           int
}

// CharsPerToken is about how many characters a token has, in what language models read of screens.
const CharsPerToken = 4

// Turn is one later message.
type Turn struct {
	Assistant bool // otherwise it is the user's
	Text      string
}

// Schema is a JSON schema with a name. Strict asks the server to follow it exactly; servers refuse a strict schema that
// has optional or open members.
type Schema struct {
	Name   string
	JSON   json.RawMessage
	Strict bool
}

// Response holds the N answers.
type Response struct {
	Texts     []string
	Reasoning []string  // what a reasoning model thought before each answer, or nil
	LogProbs  []float64 // log-probability of each answer, summed over its tokens; nil if the server returns none
	Usage     domain.Usage

	Cut bool // an answer ended because it may have no more tokens

	// LeftOut are the parameters without which the server was asked because it refuses them, with its words.
	LeftOut map[string]string

	// OnRead, unless it is nil, gets what the role that asked made of the answers: see Read.
	OnRead func(wrong string) `json:"-"`
}

// Read reports what the role that asked made of the answers: wrong is why they are of no use, or empty.
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
