// Package turns checks that the text of a page cannot forge a turn in the chat of a language model.
//
// It does no I/O.
package turns

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
)

// ErrHidden means that a server does not show its tokens.
var ErrHidden = errors.New("the server does not show its tokens")

// Tokenizer is the tokenizer of a server. Its errors wrap ErrHidden if the server offers no access to it. Calls may be
// repeated.
type Tokenizer interface {
	// Prompt returns the prompt for one user message as the model's chat template renders it, including control tokens,
	// up to where the answer begins.
	Prompt(ctx context.Context, user string) (string, error)
	// Tokens returns the IDs of a text's tokens. Text that looks like a control token counts as one.
	Tokens(ctx context.Context, text string) ([]int, error)
}

// marker is a user's text that no chat template contains.
const marker = "zebra 71"

// Check returns an invalid fault if a page can end the user's turn and begin the model's. This is the case if the text
// that the chat template writes there yields the same tokens after it has been broken and folded as text of pages is. A
// server that does not show its tokens passes.
func Check(ctx context.Context, tokenizer Tokenizer) error {
	prompt, err := tokenizer.Prompt(ctx, marker)
	if errors.Is(err, ErrHidden) {
		return nil
	}
	if err != nil {
		return err
	}

	at := strings.LastIndex(prompt, marker)
	if at < 0 {
		return nil
	}
	end := strings.Join(strings.Fields(prompt[at+len(marker):]), " ")
	if end == "" { // white space ends the turn, and text of a page contains no line breaks
		return nil
	}

	genuine, err := tokenizer.Tokens(ctx, end)
	if err == nil && len(genuine) > 0 {
		var written []int
		if written, err = tokenizer.Tokens(ctx, domain.BreakTokens(end)); err == nil && contains(written, genuine) {
			return fault.New(fault.Invalid, "a page can forge a turn of this model: its chat template ends the turn "+
				"of the user with %q, which a page can write. Choose a model whose template marks turns with control "+
				"tokens", end)
		}
	}
	if errors.Is(err, ErrHidden) {
		return nil
	}

	return err
}

// contains reports whether part occurs in tokens as a contiguous sequence.
func contains(tokens, part []int) bool {
	for i := range tokens {
		if i+len(part) <= len(tokens) && slices.Equal(tokens[i:i+len(part)], part) {
			return true
		}
	}

	return false
}
