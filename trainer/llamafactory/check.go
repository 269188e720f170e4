package llamafactory

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/trainer/rows"
)

// maxRow bounds a row, in bytes.
const maxRow = 64 << 20

// check refuses rows that the program would drop with a warning: those with a wrong order or number of turns, or with
// images that have no place. It returns the rows that the program would silently cut, because they have more tokens
// than the cutoff.
func (t *Tool) check(
	ctx context.Context, file string, raw []byte, ranking bool, options Options, pixels int,
) ([]longRow, error) {
	sc := bufio.NewScanner(bytes.NewReader(raw))
	sc.Buffer(nil, maxRow)

	var lengths []length
	for n := 1; sc.Scan(); n++ {
		l, err := checkRow(sc.Bytes(), ranking, pixels)
		if err != nil {
			return nil, fault.New(fault.Invalid, "%s:%d: %w", file, n, err)
		}
		lengths = append(lengths, l)
	}
	if err := sc.Err(); err != nil {
		return nil, fault.As(fault.Fatal, err)
	}

	return t.tooLong(ctx, file, lengths, options)
}

// length determines how many tokens a row has.
type length struct {
	text  string // all of the row, with its answer of more bytes
	other string // the same with its other answer, which may have more tokens; "": it has one
	extra int    // tokens in addition to the text: those of the template and of images
}

// The maximum number of tokens around the text of a row: the markers of a chat template, and the markers of an image.
// Vision models of the Qwen family see 28 × 28 pixels per token.
const (
	templateTokens = 64
	imageTokens    = 8
	pixelsPerToken = 28 * 28
)

// checkRow checks one row, as LLaMA-Factory reads it.
func checkRow(line []byte, ranking bool, pixels int) (length, error) {
	var row rows.ShareGPTRow
	if err := json.Unmarshal(line, &row); err != nil {
		return length{}, fmt.Errorf("expected a JSON object: %w", err)
	}
	if err := checkTurns(row.Messages, ranking); err != nil {
		return length{}, err
	}

	l := length{extra: templateTokens + len(row.Images)*(pixels/pixelsPerToken+imageTokens)}
	for _, message := range row.Messages {
		l.text += message.Content
	}
	places := strings.Count(l.text, rows.ImagePlace)
	if ranking {
		if !answer(row.Chosen) || !answer(row.Rejected) {
			return length{}, fmt.Errorf("expected chosen and rejected answers of the assistant: " +
				"LLaMA-Factory would drop the row")
		}
		places += strings.Count(row.Chosen.Content, rows.ImagePlace)
		l.other = l.text + row.Rejected.Content
		l.text += row.Chosen.Content
		if len(l.other) > len(l.text) {
			l.text, l.other = l.other, l.text
		}
	}
	if places != len(row.Images) {
		return length{}, fmt.Errorf("expected as many images as places for them: %d and %d", len(row.Images), places)
	}

	return l, nil
}

// checkTurns checks that user and assistant take turns after the system message. The last turn is the assistant's, or
// in a ranking the user's.
func checkTurns(turns []rows.Message, ranking bool) error {
	if len(turns) > 0 && turns[0].Role == rows.System {
		turns = turns[1:]
	}

	parity := "even"
	rest := 0
	if ranking {
		parity = "odd"
		rest = 1
	}
	if len(turns) == 0 || len(turns)%2 != rest {
		return fmt.Errorf("expected an %s number of turns after the system message, not %d: "+
			"LLaMA-Factory would drop the row", parity, len(turns))
	}

	for i, m := range turns {
		if want := [2]rows.Role{rows.User, rows.Assistant}[i%2]; m.Role != want {
			return fmt.Errorf("expected user and assistant in turn, not %q: LLaMA-Factory would drop the row", m.Role)
		}
	}

	return nil
}

// answer reports whether a message is there and is the assistant's.
func answer(message *rows.Message) bool { return message != nil && message.Role == rows.Assistant }
