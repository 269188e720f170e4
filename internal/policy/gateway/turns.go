package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/policy/turns"
)

// checkTurns refuses a model in whose chat a page can forge a turn.
func (g *Gateway) checkTurns(ctx context.Context, model string) error {
	err := turns.Check(ctx, tokenizer{g, model})
	if fault.KindOf(err) == fault.Invalid {
		return httpd.Refuse(http.StatusConflict, "%s: %w", model, err)
	}

	return err
}

// tokenizer is the tokenizer of a model of the engine.
type tokenizer struct {
	*Gateway
	model string
}

func (t tokenizer) Prompt(ctx context.Context, user string) (string, error) {
	ids, err := t.dialect.scoring.prompt(ctx, t.Gateway, hold{model: t.model}, []message{{Role: "user", Content: user}})
	if err != nil {
		return "", markHidden(err)
	}

	var got struct {
		Prompt string `json:"prompt"` // vLLM
		Text   string `json:"text"`   // SGLang
	}
	err = t.requestScoring(ctx, t.dialect.scoring.detokenize, map[string]any{
		"model": t.model, "tokens": ids, "skip_special_tokens": false,
	}, &got)

	return got.Prompt + got.Text, markHidden(err)
}

func (t tokenizer) Tokens(ctx context.Context, text string) ([]int, error) {
	ids, err := t.tokens(ctx, t.dialect.scoring.tokenize, map[string]any{
		"model": t.model, "prompt": text, "add_special_tokens": false,
	})

	return ids, markHidden(err)
}

// markHidden marks the refusal of an engine that does not show tokens.
func markHidden(err error) error {
	var r *httpd.Refusal
	if errors.As(err, &r) && r.Status == http.StatusNotImplemented {
		return fmt.Errorf("%w: %w", turns.ErrHidden, err)
	}

	return err
}
