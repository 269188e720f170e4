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

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/trainer/external"
)

//go:embed count.py
var countScript string

// longRow is a row that is longer than the cutoff.
type longRow struct {
	index  int // from 0
	tokens int
	extra  int // of them, for template and images
}

// tooMany returns an error if more rows are too long than the share that may be left out, or if none would be left.
func tooMany(long []longRow, rows int, share float64, file string, options Options) error {
	if len(long) < rows && float64(len(long)) <= share*float64(rows) {
		return nil
	}
	first := long[0]

	return fault.New(fault.Invalid, "%d of %d rows are longer than trainer.options.cutoff %d, more than failed_share "+
		"allows, and LLaMA-Factory would silently cut their ends; the first is %s:%d with %d tokens (%d of them for "+
		"template and images). Raise cutoff, or go on without them with `collabui resume --accept-failed --why TEXT`",
		len(long), rows, options.Cutoff, file, first.index+1, first.tokens, first.extra)
}

// without returns the pairs whose rows are not too long.
func without(pairs []domain.Example, long []longRow) []domain.Example {
	var out []domain.Example
	for i, example := range pairs {
		if len(long) > 0 && long[0].index == i {
			long = long[1:]
			continue
		}
		out = append(out, example)
	}

	return out
}

// tooLong returns the rows that are longer than the cutoff. LLaMA-Factory would silently cut their end, and with it
// elements or messages. A token has at least one byte, so short rows need no tokenizer; if there are others, the
// model's own counts the tokens.
func (t *Tool) tooLong(ctx context.Context, file string, lengths []length, options Options) ([]longRow, error) {
	long := func(l length) bool { return len(l.text)+l.extra > options.Cutoff }
	if !slices.ContainsFunc(lengths, long) {
		return nil, nil
	}

	program, err := t.program()
	if err != nil {
		return nil, err
	}
	python := t.python(program)
	if python == "" {
		return nil, fault.New(fault.Invalid, "%s: rows may be longer than trainer.options.cutoff (%d tokens), "+
			"and nothing here can count them: set COLLABUI_PYTHON to an interpreter with the package tokenizers, "+
			"or raise cutoff", file, options.Cutoff)
	}

	tokens, err := count(ctx, python, filepath.Join(options.Model, "tokenizer.json"), lengths)
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &ended) && !ended.Exited():
		return nil, fault.New(fault.Transient, "%s: counting tokens was killed: %w", file, err)
	case err != nil:
		return nil, fault.New(fault.Invalid,
			"%s: rows may be longer than trainer.options.cutoff (%d tokens), and they could not be counted: %w",
			file, options.Cutoff, err)
	}

	var out []longRow
	for i, n := range tokens {
		extra := lengths[i].extra
		if all := n + extra; all > options.Cutoff {
			out = append(out, longRow{index: i, tokens: all, extra: extra})
		}
	}

	return out, nil
}

// count returns the number of tokens of every row, with the answer that has more.
func count(ctx context.Context, python, tokenizer string, lengths []length) ([]int, error) {
	var texts []string
	var of []int // the row of every text
	for i, l := range lengths {
		texts = append(texts, l.text)
		of = append(of, i)
		if l.other != "" {
			texts = append(texts, l.other)
			of = append(of, i)
		}
	}
	in, err := json.Marshal(texts)
	if err != nil {
		return nil, err
	}

	var said bytes.Buffer
	program := exec.CommandContext(ctx, python, "-c", countScript, tokenizer)
	program.Stdin = bytes.NewReader(in)
	program.Stderr = &said
	program.Env = external.Environ()
	out, err := program.Output()
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

	longest := make([]int, len(lengths))
	for i, n := range tokens {
		longest[of[i]] = max(longest[of[i]], n)
	}

	return longest, nil
}
