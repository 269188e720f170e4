package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/collabui/collabui/internal/policy/turns"
)

// CheckTurns returns an invalid fault if a page can forge a turn in the model's chat, according to turns.Check. Servers
// that do not show tokens pass; llama.cpp and vLLM show them. The call may be repeated.
func (c *Client) CheckTurns(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.conf.Timeout)
	defer cancel()

	return turns.Check(ctx, tokenizer{c})
}

// tokenizer gets tokens from a server, at paths beside OpenAI's interface.
type tokenizer struct{ *Client }

func (t tokenizer) Prompt(ctx context.Context, user string) (string, error) {
	chat := map[string]any{
		"model": t.conf.Model, "messages": []any{map[string]string{"role": "user", "content": user}},
		"add_generation_prompt": true,
	}
	var got struct {
		Prompt string `json:"prompt"`
		Tokens []int  `json:"tokens"`
	}
	if t.show(ctx, "apply-template", chat, &got) == nil && got.Prompt != "" { // llama.cpp
		return got.Prompt, nil
	}

	err := t.show(ctx, "tokenize", chat, &got)
	if err == nil && len(got.Tokens) == 0 {
		err = turns.ErrHidden
	}
	if err == nil {
		err = t.show(ctx, "detokenize", map[string]any{"model": t.conf.Model, "tokens": got.Tokens}, &got)
	}

	return got.Prompt, err
}

func (t tokenizer) Tokens(ctx context.Context, text string) ([]int, error) {
	var got struct {
		Tokens []int `json:"tokens"`
	}
	err := t.show(ctx, "tokenize", map[string]any{
		"model": t.conf.Model, "prompt": text, "add_special_tokens": false, // vLLM
		"content": text, "add_special": false, "parse_special": true, // llama.cpp
	}, &got)

	return got.Tokens, err
}

// show sends a request to a path beside the base URL's version, and decodes the answer into out. Every failure counts
// as a server that does not show its tokens, because the server has answered a chat before.
func (t tokenizer) show(ctx context.Context, path string, value, out any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	base, err := url.Parse(t.conf.BaseURL)
	if err != nil {
		return err
	}
	base.Path = strings.TrimSuffix(strings.TrimSuffix(base.Path, "/"), "/v1") + "/" + path

	got, err := t.send(ctx, http.MethodPost, base.String(), body)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("%w: %w", turns.ErrHidden, err)
	case got.status != http.StatusOK || json.Unmarshal(got.body, out) != nil:
		return fmt.Errorf("%w: status %d for /%s", turns.ErrHidden, got.status, path)
	}

	return nil
}
