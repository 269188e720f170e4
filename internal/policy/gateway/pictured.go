package gateway

import (
	"context"
	"slices"
	"strconv"

	"github.com/collabui/collabui/internal/httpd"
)

// part is a part of the content of a message.
type part struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	URL  *link  `json:"image_url,omitempty"`
}

// link is the place of a picture.
type link struct {
	URL string `json:"url"`
}

// contentOf returns the content of the user's message of a request: its text or, with pictures, the parts in the order
// in which prompts have them.
func contentOf(request httpd.ScoreRequest) any {
	if len(request.Images) == 0 {
		return request.User
	}
	parts := []part{{Type: "text", Text: request.User}}
	for _, url := range request.Images {
		parts = append(parts, part{Type: "image_url", URL: &link{url}})
	}

	return parts
}

// vllmPictured has vLLM continue a chat whose last message is the answer. It knows what a picture becomes in the
// prompt, so the answer's tokens are found at the end of the prompt that it returns.
func vllmPictured(ctx context.Context, gateway *Gateway, h hold, chat []message, answer []int) (float64, error) {
	var got struct {
		Tokens   []int `json:"prompt_token_ids"`
		LogProbs []map[string]struct {
			LogProb float64 `json:"logprob"`
		} `json:"prompt_logprobs"`
	}
	err := gateway.requestScoring(ctx, "/v1/chat/completions", map[string]any{
		"model": h.model, "messages": chat, "add_generation_prompt": false, "continue_final_message": true,
		"max_tokens": 1, "temperature": 0, "prompt_logprobs": 1, "return_token_ids": true,
	}, &got)
	if err != nil {
		return 0, err
	}

	from := len(got.Tokens) - len(answer)
	if from < 1 || len(got.LogProbs) != len(got.Tokens) {
		return 0, cannotScore("the engine did not return prompt_logprobs and prompt_token_ids of a chat with pictures")
	}
	if !slices.Equal(got.Tokens[from:], answer) {
		return 0, cannotScore("the engine's prompt does not end with the tokens of the answer")
	}
	sum := 0.0
	for i, token := range answer {
		p, ok := got.LogProbs[from+i][strconv.Itoa(token)]
		if !ok {
			return 0, cannotScore("the engine's prompt_logprobs lack token %d of an answer", i)
		}
		sum += p.LogProb
	}

	return sum, nil
}
