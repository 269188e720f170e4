package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/method/chat"
)

// Score requests the log-probabilities of answers from a policy server. Its faults are the same as Complete's. If the
// server cannot score answers, the error is an invalid fault that wraps chat.ErrNoScores.
func (c *Client) Score(ctx context.Context, scoreRequest chat.ScoreRequest) ([]chat.Score, error) {
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, c.conf.Timeout)
	defer cancel()

	images, err := c.withFiles(ctx, scoreRequest.Images)
	if err != nil {
		return nil, err
	}
	request := httpd.ScoreRequest{
		Model:  scoreRequest.Model,
		System: domain.BreakTokens(scoreRequest.System),
		User:   domain.BreakTokens(scoreRequest.User),
	}
	for _, text := range scoreRequest.Answers {
		request.Answers = append(request.Answers, domain.BreakTokens(text))
	}
	for _, picture := range images {
		request.Images = append(request.Images, dataURL(picture))
	}
	got, err := c.requestScores(ctx, request)
	switch {
	case err != nil && parent.Err() != nil:
		return nil, context.Cause(parent)
	case errors.Is(err, chat.ErrNoScores):
		return nil, fault.As(fault.Invalid, err)
	case err != nil:
		return nil, c.classify(err, scoreRequest.Model)
	case len(got.Scores) != len(scoreRequest.Answers):
		return nil, fault.New(fault.Transient,
			"model %s returned %d scores instead of %d", scoreRequest.Model, len(got.Scores), len(scoreRequest.Answers))
	}

	out := make([]chat.Score, len(got.Scores))
	for i, score := range got.Scores {
		out[i] = chat.Score{LogProb: math.Inf(-1)}
		if score.LogProb != nil {
			out[i] = chat.Score{
				LogProb: *score.LogProb, Tokens: score.Tokens, Prompt: score.Prompt, IDs: score.IDs,
			}
		}
	}

	return out, nil
}

// requestScores sends a request for scores. A status other than 200 is a refusal.
func (c *Client) requestScores(ctx context.Context, request httpd.ScoreRequest) (out httpd.ScoreResponse, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return out, err
	}

	got, err := c.send(ctx, http.MethodPost, c.url(httpd.ScorePath), body)
	switch {
	case err != nil:
		return out, err
	case got.status == http.StatusNotImplemented:
		return out, fmt.Errorf("%w: %s", chat.ErrNoScores, c.refusalOf(got.status, got.header, got.body).words)
	case got.status != http.StatusOK:
		return out, c.refusalOf(got.status, got.header, got.body)
	}

	if json.Unmarshal(got.body, &out) != nil || out.Scores == nil {
		return out, c.refusalOf(got.status, got.header, got.body)
	}

	return out, nil
}
