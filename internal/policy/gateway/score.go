package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/method/chat"
)

// errGone means that the engine lacks a policy that it had.
var errGone = errors.New("the engine lacks the policy")

// score serves the log-probabilities of answers to a prompt. If the engine has lost the policy, it is loaded again,
// once. The prompt is tokenised by the engine's chat template with its generation prompt, as for sampling. The answer
// is tokenised separately and appended, so the position at which it begins is known exactly.
func (g *Gateway) score(w http.ResponseWriter, r *http.Request) error {
	scoreRequest, err := httpd.ReadScoreRequest(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return badJSON(err)
	}

	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()

	for again := true; ; again = false {
		scores, err := g.scores(r.Context(), scoreRequest, again)
		if errors.Is(err, errGone) && again {
			continue
		}
		if err == nil {
			httpd.WriteScores(w, scores)
		}

		return err
	}
}

// scores returns the scores of a request. If the engine lacks the policy, it returns errGone; if again is set, it has
// then loaded the policy again.
func (g *Gateway) scores(ctx context.Context, scoreRequest httpd.ScoreRequest, again bool) ([]httpd.Score, error) {
	h, err := g.acquire(ctx, scoreRequest.Model)
	if err != nil {
		return nil, err
	}
	defer g.release(h)

	scores, err := g.scoresOf(ctx, h, scoreRequest)
	if errors.Is(err, errGone) && again {
		if err := wait(ctx, g.loadAgain(ctx, h)); err != nil {
			return nil, err
		}
	}

	return scores, err
}

// scoresOf returns the scores of a request for a policy that is held.
func (g *Gateway) scoresOf(ctx context.Context, h hold, request httpd.ScoreRequest) ([]httpd.Score, error) {
	var messages []message
	if request.System != "" {
		messages = append(messages, message{Role: "system", Content: request.System})
	}
	messages = append(messages, message{Role: "user", Content: contentOf(request)})
	prompt, sumOf, err := g.summing(ctx, h, messages, len(request.Images) > 0)
	if err != nil {
		return nil, err
	}

	out := make([]httpd.Score, len(request.Answers))
	for i, text := range request.Answers {
		answer, err := g.tokens(ctx, g.dialect.scoring.tokenize, map[string]any{
			"model": h.model, "prompt": text, "add_special_tokens": false,
		})
		if err != nil {
			return nil, err
		}

		sum := 0.0
		if len(answer) > 0 {
			if sum, err = sumOf(text, answer); err != nil {
				return nil, err
			}
		}
		out[i] = httpd.NewScore(sum, len(answer))
		if len(request.Images) == 0 { // the tokens of a prompt with a picture are not known
			out[i].Prompt = len(prompt)
			out[i].IDs = chat.TokensDigest(prompt, answer)
		}
	}

	return out, nil
}

// summing returns the tokens of a chat without pictures, and how the log-probability of an answer to the chat is found,
// by the answer's text and tokens.
func (g *Gateway) summing(
	ctx context.Context, h hold, messages []message, pictured bool,
) (prompt []int, sumOf func(text string, answer []int) (float64, error), err error) {
	engine := g.dialect.scoring
	if pictured {
		if engine.pictured == nil {
			return nil, nil, cannotScore("this gateway scores answers to pictures with vLLM only")
		}

		return nil, func(text string, answer []int) (float64, error) {
			answered := append(slices.Clip(messages), message{Role: "assistant", Content: text})

			return engine.pictured(ctx, g, h, answered, answer)
		}, nil
	}
	prompt, err = engine.prompt(ctx, g, h, messages)

	return prompt, func(_ string, answer []int) (float64, error) { return engine.sum(ctx, g, h, prompt, answer) }, err
}

// message is a message of a chat. Its content is a text, or parts.
type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

// tokens has the engine tokenise a text or a chat.
func (g *Gateway) tokens(ctx context.Context, path string, value any) ([]int, error) {
	var got struct {
		Tokens []int `json:"tokens"`
	}

	err := g.requestScoring(ctx, path, value, &got)

	return got.Tokens, err
}

// requestScoring sends a request that scoring needs and decodes the answer into out. If the engine does not know or
// refuses the request, it cannot score, which is a 501.
func (g *Gateway) requestScoring(ctx context.Context, path string, value, out any) error {
	r, err := g.callUpTo(ctx, maxBody, changeTime, http.MethodPost, path, value)
	switch {
	case err != nil:
		return err
	case r.noPath():
		return cannotScore("the engine has no %s", path)
	case g.dialect.missing(r):
		return errGone
	case r.keyRefused(), r.status == http.StatusTooManyRequests:
		return failure("score an answer", r)
	case r.refused():
		return cannotScore("the engine answered %d to %s: %s", r.status, path, shorten(r.text))
	case !r.ok():
		return failure("score an answer", r)
	}

	if err := json.Unmarshal([]byte(r.text), out); err != nil {
		return cannotScore("the engine's answer to %s: %v", path, err)
	}

	return nil
}

// cannotScore returns the refusal of an engine that cannot score answers.
func cannotScore(format string, args ...any) error {
	return httpd.Refuse(http.StatusNotImplemented, format, args...)
}
