package fakeengine

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// LogProb returns the log-probability that a model gives to an answer; it is finite. dir is the adapter's folder, empty
// for the engine's own model.
type LogProb func(dir, system, user, answer string) float64

// A token is a byte of the text. The stand-in begins texts with a special token unless a request turns that off, and
// gives tokens of prompts an absurd probability, so that a caller that counts a token too many notices.
const (
	beginning     = 1000
	promptLogProb = -1e6
)

// Parts of the chat template.
const (
	turnStart = "<|im_start|>"
	turnEnd   = "<|im_end|>\n"
	generate  = turnStart + "assistant\n"
)

// scoring responds to the requests that scoring needs; ok is false for other requests.
func (e *Engine) scoring(request string, body []byte) (status int, answer []byte, ok bool) {
	if e.LogProb == nil {
		return 0, nil, false
	}

	switch {
	case request == "POST /tokenize" && !e.SGLang, request == "POST /v1/tokenize" && e.SGLang:
		status, answer = e.tokenize(body)
	case request == "POST /detokenize" && !e.SGLang, request == "POST /v1/detokenize" && e.SGLang:
		status, answer = detokenize(body)
	case request == "POST /v1/completions" && !e.SGLang:
		status, answer = e.completions(body)
	case request == "POST /generate" && e.SGLang:
		status, answer = e.generate(body)
	default:
		return 0, nil, false
	}

	return status, answer, true
}

// tokensOf returns the tokens of a text.
func tokensOf(text string) []int {
	out := make([]int, 0, len(text))
	for _, b := range []byte(text) {
		out = append(out, int(b))
	}

	return out
}

// turn is a message of a chat.
type turn struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is the text of a message. Of a picture, it has Picture.
type content string

// Picture returns what stands in a prompt for a picture: the digest of its file.
func Picture(png []byte) string { return fmt.Sprintf("[%x]", sha256.Sum256(png)) }

// UnmarshalJSON accepts a text or a list of texts and PNG files.
func (c *content) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, (*string)(c)) == nil {
		return nil
	}
	var parts []struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		Image struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		if part.Type == "text" {
			*c += content(part.Text)

			continue
		}
		png, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(part.Image.URL, "data:image/png;base64,"))
		if err != nil {
			return err
		}
		*c += content(Picture(png))
	}

	return nil
}

// plainTurns is a chat template whose turns are ordinary text.
var plainTurns = strings.NewReplacer(turnStart, "", turnEnd, "\n", "assistant\n", "ASSISTANT:")

// template returns the tokens of a chat with the generation prompt.
func (e *Engine) template(chat []turn) []int {
	var builder strings.Builder
	for _, t := range chat {
		builder.WriteString(turnStart + t.Role + "\n" + string(t.Content) + turnEnd)
	}

	builder.WriteString(generate)
	if e.PlainTurns {
		return tokensOf(plainTurns.Replace(builder.String()))
	}

	return tokensOf(builder.String())
}

func (e *Engine) tokenize(body []byte) (int, []byte) {
	var q struct {
		Model    string  `json:"model"`
		Prompt   *string `json:"prompt"`
		Special  *bool   `json:"add_special_tokens"`
		Messages []turn  `json:"messages"`
		Generate *bool   `json:"add_generation_prompt"`
	}
	if err := json.Unmarshal(body, &q); err != nil || e.SGLang && q.Prompt == nil {
		return fail(http.StatusBadRequest, "BadRequestError", fmt.Sprintf("expected a prompt (%v)", err))
	}
	if !e.SGLang {
		if _, status, refusal := e.folder(q.Model); status != http.StatusOK {
			return status, refusal
		}
	}

	var tokens []int
	if q.Prompt == nil {
		tokens = e.template(q.Messages)
		if q.Generate != nil && !*q.Generate {
			tokens = tokens[:len(tokens)-len(generate)]
		}
	} else {
		tokens = tokensOf(*q.Prompt)
		if q.Special == nil || *q.Special {
			tokens = append([]int{beginning}, tokens...)
		}
	}

	return http.StatusOK, encode(map[string]any{"count": len(tokens), "tokens": tokens})
}

func detokenize(body []byte) (int, []byte) {
	var q struct {
		Tokens  []int `json:"tokens"`
		Special *bool `json:"skip_special_tokens"`
	}
	if err := json.Unmarshal(body, &q); err != nil || q.Special == nil || *q.Special {
		return fail(http.StatusBadRequest, "BadRequestError", fmt.Sprintf("expected all tokens (%v)", err))
	}

	var text []byte
	for _, t := range q.Tokens {
		text = append(text, byte(t))
	}

	return http.StatusOK, encode(map[string]any{"prompt": string(text)})
}

// promptTokens responds to a chat request for the tokens of its prompt.
func (e *Engine) promptTokens(body []byte) (int, []byte) {
	var q struct {
		Messages []turn `json:"messages"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return fail(http.StatusBadRequest, "BadRequestError", err.Error())
	}

	return http.StatusOK, encode(map[string]any{
		"choices": []any{map[string]any{"index": 0, "prompt_token_ids": e.template(q.Messages)}},
	})
}

// logProbs returns the log-probability of every token of a prompt that ends with an answer. The log-probabilities of
// the answer's tokens add up to the answer's.
func (e *Engine) logProbs(dir string, tokens []int) ([]float64, error) {
	var text []byte
	for _, t := range tokens {
		if t < 0 || t > 255 {
			return nil, fmt.Errorf("a special token %d in the prompt", t)
		}
		text = append(text, byte(t))
	}

	prompt, answer, ok := strings.Cut(string(text), generate)
	if !ok || answer == "" {
		return nil, fmt.Errorf("no answer follows a generation prompt")
	}
	messages := map[string]string{}
	for t := range strings.SplitSeq(prompt, turnStart) {
		role, content, _ := strings.Cut(t, "\n")
		messages[role] = strings.TrimSuffix(content, turnEnd)
	}

	out := make([]float64, len(tokens))
	sum := e.LogProb(dir, messages["system"], messages["user"], answer)
	for i := range out {
		out[i] = promptLogProb
		if i >= len(tokens)-len(answer) {
			out[i] = sum / float64(len(answer))
		}
	}

	return out, nil
}

func (e *Engine) completions(body []byte) (int, []byte) {
	var q struct {
		Model  string `json:"model"`
		Prompt []int  `json:"prompt"`
		Max    int    `json:"max_tokens"`
		Top    *int   `json:"prompt_logprobs"`
	}
	if err := json.Unmarshal(body, &q); err != nil || q.Max < 1 || q.Top == nil {
		return fail(http.StatusBadRequest, "BadRequestError", fmt.Sprintf("expected prompt_logprobs (%v)", err))
	}
	dir, status, refusal := e.folder(q.Model)
	if status != http.StatusOK {
		return status, refusal
	}
	logProbs, err := e.logProbs(dir, q.Prompt)
	if err != nil {
		return fail(http.StatusBadRequest, "BadRequestError", err.Error())
	}

	return http.StatusOK, encode(map[string]any{
		"object": "text_completion",
		"choices": []any{
			map[string]any{"index": 0, "text": "x", "prompt_logprobs": promptLogProbs(q.Prompt, logProbs)},
		},
	})
}

// promptLogProbs returns the log-probabilities of a prompt's tokens in vLLM's form.
func promptLogProbs(tokens []int, logProbs []float64) []any {
	list := []any{nil} // nothing precedes the first token
	for i, t := range tokens[1:] {
		list = append(list, map[string]any{
			"7777":        map[string]any{"logprob": -0.5, "rank": 1}, // the likeliest token
			fmt.Sprint(t): map[string]any{"logprob": logProbs[i+1], "rank": 2},
		})
	}

	return list
}

// continued responds to a chat whose last message is to be continued.
func (e *Engine) continued(dir string, body []byte) (int, []byte) {
	var q struct {
		Messages []turn `json:"messages"`
		Generate *bool  `json:"add_generation_prompt"`
		Top      *int   `json:"prompt_logprobs"`
		Tokens   bool   `json:"return_token_ids"`
	}
	err := json.Unmarshal(body, &q)
	last := len(q.Messages) - 1
	if err != nil || last < 1 || q.Messages[last].Role != "assistant" || q.Generate == nil || *q.Generate ||
		q.Top == nil || !q.Tokens {
		return fail(http.StatusBadRequest, "BadRequestError", fmt.Sprintf("expected an answer to continue (%v)", err))
	}
	tokens := append(e.template(q.Messages[:last]), tokensOf(string(q.Messages[last].Content))...)
	logProbs, err := e.logProbs(dir, tokens)
	if err != nil {
		return fail(http.StatusBadRequest, "BadRequestError", err.Error())
	}

	return http.StatusOK, encode(map[string]any{
		"object":           "chat.completion",
		"choices":          []any{map[string]any{"index": 0, "message": map[string]any{"content": "x"}}},
		"prompt_token_ids": tokens, "prompt_logprobs": promptLogProbs(tokens, logProbs),
	})
}

func (e *Engine) generate(body []byte) (int, []byte) {
	var q struct {
		Tokens  []int  `json:"input_ids"`
		Adapter string `json:"lora_path"`
		Return  bool   `json:"return_logprob"`
		From    int    `json:"logprob_start_len"`
	}
	if err := json.Unmarshal(body, &q); err != nil || !q.Return || q.From < 0 || q.From >= len(q.Tokens) {
		return fail(http.StatusBadRequest, "BadRequestError", fmt.Sprintf("expected return_logprob (%v)", err))
	}
	model := e.models()[0]
	if q.Adapter != "" {
		model += ":" + q.Adapter
	}
	dir, status, refusal := e.folder(model)
	if status != http.StatusOK {
		return status, refusal
	}
	logProbs, err := e.logProbs(dir, q.Tokens)
	if err != nil {
		return fail(http.StatusBadRequest, "BadRequestError", err.Error())
	}

	list := [][]any{{nil, q.Tokens[q.From], nil}} // nothing precedes the first token that is returned
	for i := q.From + 1; i < len(q.Tokens); i++ {
		list = append(list, []any{logProbs[i], q.Tokens[i], nil})
	}

	return http.StatusOK, encode(map[string]any{
		"text":      "x",
		"meta_info": map[string]any{"input_token_logprobs": list},
	})
}
