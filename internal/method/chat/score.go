package chat

import (
	"context"
	"errors"
)

// ErrNoScores means that a server cannot return the log-probabilities of given answers. The error that wraps it says
// why.
var ErrNoScores = errors.New("the policy server cannot score answers")

// ScoreRequest asks a policy for the log-probabilities of answers to one prompt.
type ScoreRequest struct {
	Model   string // a policy digest
	System  string
	User    string
	Answers []string
}

// Score is log π(answer | system, user) under one policy at temperature 1.
type Score struct {
	// LogProb is the sum over the answer's tokens in nats, at most 0. It is −∞ if the policy cannot say the answer. The
	// token that ends a turn of a language model does not count.
	LogProb float64
	// Tokens is the number of the answer's tokens. It is 0 if LogProb is −∞ or the answer is empty.
	Tokens int
}

// Scorer is a server of policies that returns the log-probabilities of given answers.
type Scorer interface {
	// Score returns a score for every answer, in their order. A server that cannot score answers is an ErrNoScores. The
	// call may be repeated.
	Score(ctx context.Context, r ScoreRequest) ([]Score, error)
}
