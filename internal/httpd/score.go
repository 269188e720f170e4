package httpd

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
)

// ScorePath is the path at which policy servers score answers, below the base URL up to /v1. It takes a ScoreRequest by
// POST and returns a ScoreResponse. Status 501 means that the server cannot score answers.
const ScorePath = "/answers/score"

// ScoreRequest requests the log-probabilities of answers to one prompt. The system message may be empty. Images are
// data URLs of pictures, which follow the user's text.
type ScoreRequest struct {
	Model   string   `json:"model"`
	System  string   `json:"system"`
	User    string   `json:"user"`
	Images  []string `json:"images,omitempty"`
	Answers []string `json:"answers"`
}

// ScoreResponse contains a score for every answer, in order.
type ScoreResponse struct {
	Scores []Score `json:"scores"`
}

// Score is the log-probability of an answer: the sum over its tokens in nats. LogProb is nil if the policy cannot
// produce the answer.
type Score struct {
	LogProb *float64 `json:"logprob"`
	Tokens  int      `json:"tokens"`

	Prompt int    `json:"prompt_tokens,omitempty"` // tokens of the prompt, if the server counts them
	IDs    string `json:"ids,omitempty"`           // chat.TokensDigest of prompt and answer, if the server knows them
}

// NewScore returns a score. A logprob of −∞ means that the policy cannot produce the answer.
func NewScore(logprob float64, tokens int) Score {
	if math.IsInf(logprob, -1) {
		return Score{}
	}

	return Score{LogProb: &logprob, Tokens: tokens}
}

// ReadScoreRequest reads a request. A request without a user message or answers is an error.
func ReadScoreRequest(body io.Reader) (ScoreRequest, error) {
	var scoreRequest ScoreRequest
	if err := json.NewDecoder(body).Decode(&scoreRequest); err != nil {
		return scoreRequest, err
	}
	if scoreRequest.User == "" || len(scoreRequest.Answers) == 0 {
		return scoreRequest, errors.New("expected model, user and at least one of answers")
	}

	return scoreRequest, nil
}

// WriteScores answers a request for scores.
func WriteScores(w http.ResponseWriter, scores []Score) {
	WriteJSON(w, http.StatusOK, ScoreResponse{Scores: scores})
}
