package llamafactory

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/trainer/external"
)

//go:embed count.py
var countScript string

// fits refuses rows that are longer than the cutoff. LLaMA-Factory would silently cut their end, and with it elements
// or messages. A token has at least one byte, so short rows need no tokenizer; if there are others, the model's own
// counts the tokens.
func (t *Tool) fits(ctx context.Context, file string, lengths []length, o Options) error {
	long := func(l length) bool { return len(l.text)+l.extra > o.Cutoff }
	if !slices.ContainsFunc(lengths, long) {
		return nil
	}

	program, err := t.program()
	if err != nil {
		return err
	}
	python := t.python(program)
	if python == "" {
		return fault.New(fault.Invalid, "%s: rows may be longer than trainer.options.cutoff (%d tokens), "+
			"and nothing here can count them: set COLLABUI_PYTHON to an interpreter with the package tokenizers, "+
			"or raise cutoff", file, o.Cutoff)
	}

	tokens, err := count(ctx, python, filepath.Join(o.Model, "tokenizer.json"), lengths)
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &ended) && !ended.Exited():
		return fault.New(fault.Transient, "%s: counting tokens was killed: %w", file, err)
	case err != nil:
		return fault.New(fault.Invalid,
			"%s: rows may be longer than trainer.options.cutoff (%d tokens), and they could not be counted: %w",
			file, o.Cutoff, err)
	}

	for i, n := range tokens {
		if all, extra := n+lengths[i].extra, lengths[i].extra; all > o.Cutoff {
			return fault.New(fault.Invalid, "%s:%d: %d tokens (%d of them for template and images) are more than "+
				"trainer.options.cutoff %d: LLaMA-Factory would silently cut the row's end; raise cutoff",
				file, i+1, all, extra, o.Cutoff)
		}
	}

	return nil
}

// count returns the number of tokens of every text.
func count(ctx context.Context, python, tokenizer string, lengths []length) ([]int, error) {
	texts := make([]string, len(lengths))
	for i, l := range lengths {
		texts[i] = l.text
	}
	in, err := json.Marshal(texts)
	if err != nil {
		return nil, err
	}

	var said bytes.Buffer
	c := exec.CommandContext(ctx, python, "-c", countScript, tokenizer)
	c.Stdin, c.Stderr, c.Env = bytes.NewReader(in), &said, external.Environ()
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%w %s", err, external.Tail(said.String()))
	}

	var tokens []int
	if err := json.Unmarshal(out, &tokens); err != nil {
		return nil, fmt.Errorf("%w %s", err, external.Tail(said.String()))
	}
	if len(tokens) != len(texts) {
		return nil, fmt.Errorf("%d numbers for %d texts %s", len(tokens), len(texts), external.Tail(said.String()))
	}

	return tokens, nil
}
