package synth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxRow is the maximum size of a row of an imported file in bytes.
const maxRow = 4 << 20

// byteOrderMark begins some files that were written on Windows.
var byteOrderMark = []byte("\ufeff")

// record is a row of a file. Its number is the line in a file of JSON lines, or the position from 1 in an array.
type record struct {
	raw          []byte
	number, line int
	array        bool
}

// records calls f for every row of a file. Errors name file and line.
func records(name string, raw []byte, f func(record) error) error {
	if bytes.HasPrefix(raw, []byte("\xff\xfe")) || bytes.HasPrefix(raw, []byte("\xfe\xff")) {
		return fmt.Errorf("%s:1: is UTF-16; save it as UTF-8", name)
	}
	raw = bytes.TrimPrefix(raw, byteOrderMark)
	if n := validPrefix(raw); n < len(raw) {
		return fmt.Errorf("%s:%d: not UTF-8: found the byte 0x%02x", name, lineOf(raw[:n]), raw[n])
	}

	checked := func(r record) error {
		var err error
		if len(r.raw) > maxRow {
			err = fmt.Errorf("the row is longer than %d MiB", maxRow>>20)
		}
		if err == nil {
			err = wholeCharacters(r.raw)
		}
		if err == nil {
			err = f(r)
		}
		if err != nil && r.array {
			err = fmt.Errorf("row %d: %w", r.number, err)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, r.line, err)
		}
		return nil
	}
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		return elements(name, raw, checked)
	}
	n := 0
	for line := range bytes.Lines(raw) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if err := checked(record{raw: line, number: n, line: n}); err != nil {
			return err
		}
	}

	return nil
}

// validPrefix returns the length in bytes of the longest prefix that is valid UTF-8.
func validPrefix(raw []byte) int {
	n := 0
	for n < len(raw) {
		r, size := utf8.DecodeRune(raw[n:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		n += size
	}

	return n
}

// lineOf returns the number of the line at which the text after before begins.
func lineOf(before []byte) int { return bytes.Count(before, []byte("\n")) + 1 }

// elements calls f for every element of a JSON array.
func elements(name string, raw []byte, f func(record) error) error {
	in := json.NewDecoder(bytes.NewReader(raw))
	_, _ = in.Token() // the opening bracket
	line := 1
	counted := 0
	at := func(offset int) int {
		line += bytes.Count(raw[counted:offset], []byte("\n"))
		counted = offset
		return line
	}
	broken := func(err error) error {
		rest := raw[in.InputOffset():]
		next := len(raw) - len(bytes.TrimLeft(rest, " \t\r\n,"))
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%s:%d: the array does not end: the file was cut short", name, at(next))
		}
		return fmt.Errorf("%s:%d: not a JSON object: %w", name, at(next), err)
	}
	for n := 1; in.More(); n++ {
		var one json.RawMessage
		if err := in.Decode(&one); err != nil {
			return broken(err)
		}
		if err := f(record{one, n, at(int(in.InputOffset()) - len(one)), true}); err != nil {
			return err
		}
	}
	if _, err := in.Token(); err != nil {
		return broken(err)
	}
	end := int(in.InputOffset())
	if rest := bytes.TrimLeft(raw[end:], " \t\r\n"); len(rest) > 0 {
		return fmt.Errorf("%s:%d: expected nothing after the array", name, at(len(raw)-len(rest)))
	}

	return nil
}

// wholeCharacters refuses escaped surrogates that are not in a pair, because package json would replace them.
func wholeCharacters(raw []byte) error {
	high := rune(0) // a first half whose second half must follow
	for i := 0; i < len(raw); i++ {
		var r rune
		if raw[i] == '\\' {
			if i+5 < len(raw) && raw[i+1] == 'u' {
				x, _ := strconv.ParseUint(string(raw[i+2:i+6]), 16, 32)
				r = rune(x)
				i += 4
			}
			i++
		}
		second := utf16.IsSurrogate(r) && r >= 0xdc00
		if (high != 0) != second {
			half := high
			if high == 0 {
				half = r
			}
			return fmt.Errorf("\\u%04x is half of a surrogate pair", half)
		}
		high = 0
		if utf16.IsSurrogate(r) && !second {
			high = r
		}
	}

	return nil
}

// members holds the members of a JSON object, without members that are null.
type members map[string]json.RawMessage

// membersOf parses an object. It refuses a name that occurs twice in it.
func membersOf(raw []byte, field string) (members, error) {
	var m members
	var other *json.UnmarshalTypeError
	if err := json.Unmarshal(raw, &m); errors.As(err, &other) {
		return nil, fmt.Errorf("%snot a JSON object, but a JSON %s", prefix(field), other.Value)
	} else if err != nil {
		return nil, fmt.Errorf("%snot a JSON object: %w", prefix(field), err)
	}
	if m == nil {
		return nil, fmt.Errorf("%snot a JSON object, but null", prefix(field))
	}
	in := json.NewDecoder(bytes.NewReader(raw))
	_, _ = in.Token()
	seen := map[string]bool{}
	for in.More() {
		name, err := in.Token()
		var value json.RawMessage
		if err == nil {
			err = in.Decode(&value)
		}
		if err != nil {
			return nil, fmt.Errorf("%snot a JSON object: %w", prefix(field), err)
		}
		text, _ := name.(string)
		if seen[text] {
			return nil, fmt.Errorf("%smember %q occurs twice", prefix(field), text)
		}
		seen[text] = true
		if string(value) == "null" {
			delete(m, text)
		}
	}

	return m, nil
}

func prefix(field string) string {
	if field == "" {
		return ""
	}

	return field + ": "
}
