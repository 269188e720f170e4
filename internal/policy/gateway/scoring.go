package gateway

import (
	"context"
	"strconv"
)

// scoring describes how an engine scores an answer. Engines return log-probabilities at temperature 1.
type scoring struct {
	tokenize   string // POST with prompt and add_special_tokens
	detokenize string // POST with tokens

	// prompt returns the tokens of a chat with the generation prompt.
	prompt func(ctx context.Context, g *Gateway, h hold, chat []message) ([]int, error)
	// sum returns the log-probability, in nats, of an answer's tokens after a prompt's tokens. Both have at least one
	// token.
	sum func(ctx context.Context, g *Gateway, h hold, prompt, answer []int) (float64, error)
	// pictured returns the same for the answer with which a chat with pictures ends. If it is nil, the engine cannot
	// score answers to pictures.
	pictured func(ctx context.Context, g *Gateway, h hold, chat []message, answer []int) (float64, error)
}

// vllmScoring uses vLLM's /tokenize and the prompt_logprobs of /v1/completions.
var vllmScoring = scoring{
	tokenize: "/tokenize", detokenize: "/detokenize", prompt: vllmPrompt, sum: vllmSum, pictured: vllmPictured,
}

// sglangScoring uses SGLang's /v1/tokenize and /generate. SGLang applies the chat template only to chats, so the tokens
// of a prompt come from a chat request for one token.
var sglangScoring = scoring{
	tokenize: "/v1/tokenize", detokenize: "/v1/detokenize", prompt: sglangPrompt, sum: sglangSum,
}

func vllmPrompt(ctx context.Context, gateway *Gateway, h hold, chat []message) ([]int, error) {
	return gateway.tokens(ctx, "/tokenize", map[string]any{
		"model": h.model, "messages": chat, "add_generation_prompt": true,
	})
}

func vllmSum(ctx context.Context, gateway *Gateway, h hold, prompt, answer []int) (float64, error) {
	var got struct {
		Choices []struct {
			PromptLogProbs []map[string]struct {
				LogProb float64 `json:"logprob"`
			} `json:"prompt_logprobs"`
		} `json:"choices"`
	}
	all := append(append(make([]int, 0, len(prompt)+len(answer)), prompt...), answer...)
	err := gateway.requestScoring(ctx, "/v1/completions", map[string]any{
		"model": h.model, "prompt": all, "max_tokens": 1, "temperature": 0, "prompt_logprobs": 1,
	}, &got)
	if err != nil {
		return 0, err
	}

	if len(got.Choices) != 1 || len(got.Choices[0].PromptLogProbs) != len(all) {
		return 0, cannotScore("the engine did not return prompt_logprobs of all tokens")
	}
	sum := 0.0
	for i, token := range answer {
		p, ok := got.Choices[0].PromptLogProbs[len(prompt)+i][strconv.Itoa(token)]
		if !ok {
			return 0, cannotScore("the engine's prompt_logprobs lack token %d of an answer", i)
		}
		sum += p.LogProb
	}

	return sum, nil
}

func sglangPrompt(ctx context.Context, gateway *Gateway, h hold, chat []message) ([]int, error) {
	var got struct {
		Choices []struct {
			Prompt []int `json:"prompt_token_ids"`
		} `json:"choices"`
	}
	err := gateway.requestScoring(ctx, "/v1/chat/completions", map[string]any{
		"model": h.model, "messages": chat, "max_tokens": 1, "temperature": 0, "return_prompt_token_ids": true,
	}, &got)
	if err != nil {
		return nil, err
	}
	if len(got.Choices) != 1 || len(got.Choices[0].Prompt) == 0 {
		return nil, cannotScore("this SGLang does not return prompt_token_ids")
	}

	return got.Choices[0].Prompt, nil
}

func sglangSum(ctx context.Context, gateway *Gateway, h hold, prompt, answer []int) (float64, error) {
	q := map[string]any{
		"input_ids":         append(append(make([]int, 0, len(prompt)+len(answer)), prompt...), answer...),
		"sampling_params":   map[string]any{"max_new_tokens": 1, "temperature": 0},
		"return_logprob":    true,
		"logprob_start_len": len(prompt) - 1,
	}
	if h.adapter != "" {
		q["lora_path"] = h.adapter
	}

	var got struct {
		Meta struct {
			Input [][]any `json:"input_token_logprobs"` // log-probability or null, token, text or null
		} `json:"meta_info"`
	}
	if err := gateway.requestScoring(ctx, "/generate", q, &got); err != nil {
		return 0, err
	}

	from := len(got.Meta.Input) - len(answer)
	if from < 0 {
		return 0, cannotScore("the engine did not return input_token_logprobs of all tokens")
	}
	sum := 0.0
	for i, token := range answer {
		p := got.Meta.Input[from+i]
		if len(p) < 2 || p[1] != float64(token) {
			return 0, cannotScore("the engine's input_token_logprobs lack token %d of an answer", i)
		}
		logprob, ok := p[0].(float64)
		if !ok {
			return 0, cannotScore("the engine's input_token_logprobs have no value for token %d of an answer", i)
		}
		sum += logprob
	}

	return sum, nil
}
