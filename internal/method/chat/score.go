package chat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
)

// ErrNoScores means that a server cannot return the log-probabilities of given answers. The error that wraps it states
// the reason.
var ErrNoScores = errors.New("the policy server cannot score answers")

// ScoreRequest is a request for the log-probabilities of answers to one prompt under a policy.
type ScoreRequest struct {
	Model   string // a policy digest
	System  string
	User    string
	Images  []Image // shown with the user's message
	Answers []string
}

// Score is log π(answer | system, user, images) under one policy at temperature 1.
type Score struct {
	// LogProb is the sum over the answer's tokens in nats, at most 0. It is −∞ if the policy cannot produce the answer.
	// The token with which a language model ends its turn does not count.
	LogProb float64
	// Tokens is the number of the answer's tokens. It is 0 if LogProb is −∞ or the answer is empty.
	Tokens int
	// Prompt is the number of the prompt's tokens, and IDs the TokensDigest of prompt and answer. They are 0 and empty
	// if the server does not return them.
	Prompt int
	IDs    string
}

// TokensDigest identifies the tokens of a prompt and of an answer: the first 16 hex digits of the SHA-256 of both
// lists, in decimal, separated by blanks, with a bar between the lists.
func TokensDigest(prompt, answer []int) string {
	hash := sha256.New()
	for i, ids := range [][]int{prompt, answer} {
		if i > 0 {
			_, _ = hash.Write([]byte("|"))
		}
		for k, id := range ids {
			if k > 0 {
				_, _ = hash.Write([]byte(" "))
			}
			_, _ = hash.Write(strconv.AppendInt(nil, int64(id), 10))
		}
	}

	return hex.EncodeToString(hash.Sum(nil))[:16]
}

// Scorer is a policy server that returns the log-probabilities of given answers.
type Scorer interface {
	// Score returns a score for every answer, in order. If the server cannot score answers, the error wraps
	// ErrNoScores. The call may be repeated.
	Score(ctx context.Context, r ScoreRequest) ([]Score, error)
}
