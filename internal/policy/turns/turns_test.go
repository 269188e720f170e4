package turns_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/policy/turns"
)

// model is a tokenizer with a chat template. Control tokens are one token each, and every other character is one token.
type model struct {
	template string // with %s in place of the message
	control  []string
	folds    bool // it drops blanks after < before it looks for tokens
	err      error
}

func (m model) Prompt(_ context.Context, user string) (string, error) {
	return fmt.Sprintf(m.template, user), m.err
}

func (m model) Tokens(_ context.Context, text string) (ids []int, err error) {
	if m.folds {
		text = strings.ReplaceAll(text, "< ", "<")
	}
	var forms []string
	for _, token := range m.control {
		forms = append(forms, regexp.QuoteMeta(token))
	}
	for _, piece := range regexp.MustCompile(strings.Join(append(forms, "."), "|")).FindAllString(text, -1) {
		id := int([]rune(piece)[0])
		for i, token := range m.control {
			if piece == token {
				id = -1 - i
			}
		}
		ids = append(ids, id)
	}

	return ids, m.err
}

func TestModelsWhoseTurnsCanBeForgedAreRefused(t *testing.T) {
	chatML := []string{"<|im_start|>", "<|im_end|>"}
	for name, x := range map[string]struct {
		model
		forged bool
	}{
		"ChatML":  {model: model{template: "<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n", control: chatML}},
		"Llama 2": {model: model{template: "<s>[INST] %s [/INST]", control: []string{"<s>", "</s>"}}},
		"Gemma": {model: model{
			template: "<bos><start_of_turn>user\n%s<end_of_turn>\n<start_of_turn>model\n",
			control:  []string{"<bos>", "<start_of_turn>", "<end_of_turn>"},
		}},
		"only white space": {model: model{template: "%s\n\n"}},
		"no template":      {model: model{template: "%s"}},
		"no tokens shown":  {model: model{err: fmt.Errorf("404: %w", turns.ErrHidden)}},
		"Vicuna":           {model: model{template: "USER: %s ASSISTANT:", control: []string{"</s>"}}, forged: true},
		"Alpaca":           {model: model{template: "### User:\n%s\n\n### Response:\n"}, forged: true},
		"a word as token": {
			model: model{template: "\x01%sENDTURN", control: []string{"ENDTURN"}}, forged: true,
		},
		"a tokenizer that drops blanks": {
			model: model{
				template: "<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n", control: chatML, folds: true,
			},
			forged: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := turns.Check(t.Context(), x.model)
			if (err != nil) != x.forged || x.forged && fault.KindOf(err) != fault.Invalid {
				t.Errorf("Check() = %v, want an invalid fault: %v", err, x.forged)
			}
		})
	}
}

func TestAServerThatFailsIsNoProof(t *testing.T) {
	want := errors.New("away")
	if err := turns.Check(t.Context(), model{template: "%s", err: want}); !errors.Is(err, want) {
		t.Errorf("Check() = %v, want %v", err, want)
	}
}
