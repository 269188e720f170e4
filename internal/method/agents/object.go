package agents

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDepth bounds the nesting of JSON that a model wrote.
const maxDepth = 64

// found is a JSON object found in a model's text.
type found struct {
	json    string   // well-formed, unless it could not be repaired
	from    int      // byte offset at which it begins in the text
	to      int      // byte offset just past its end
	repairs []Repair // the deviations from JSON that were repaired
}

// readObject returns the first object of a text. It returns false if the text has no object, or one that never ends. An
// object that ends but cannot be repaired is returned unchanged.
func readObject(text string) (found, bool) {
	raw, balanced := firstObject(text)
	strict := found{json: raw, from: strings.Index(text, raw)}
	strict.to = strict.from + len(raw)
	if balanced && json.Valid([]byte(raw)) {
		return strict, true
	}

	from := strings.IndexAny(text, "{｛")
	if from < 0 {
		return found{}, false
	}
	r := reader{text: text[:min(len(text), from+maxSearched)], at: from}
	if r.value(0) && json.Valid([]byte(r.out.String())) {
		return found{json: r.out.String(), from: from, to: r.at, repairs: r.repairs}, true
	}

	return strict, balanced
}

// reader reads JSON as models write it, and writes well-formed JSON. Its methods return false if the text cannot be
// read.
type reader struct {
	text    string
	at      int
	out     strings.Builder
	repairs []Repair
}

// punctuation maps full-width punctuation to the punctuation of JSON.
var punctuation = map[rune]rune{'｛': '{', '｝': '}', '［': '[', '］': ']', '：': ':', '，': ','}

// closers maps each opening quote to its closing quote.
var closers = map[rune]rune{'"': '"', '\'': '\'', '“': '”', '‘': '’', '＂': '＂', '＇': '＇'}

func (r *reader) repaired(what Repair) {
	if !slices.Contains(r.repairs, what) {
		r.repairs = append(r.repairs, what)
	}
}

// peek returns the next rune and its length in bytes. At the end of the text, the rune is utf8.RuneError.
func (r *reader) peek() (rune, int) { return utf8.DecodeRuneInString(r.text[r.at:]) }

func (r *reader) skipSpace() {
	for {
		c, n := r.peek()
		if !unicode.IsSpace(c) {
			return
		}
		if !strings.ContainsRune(" \t\r\n", c) {
			r.repaired(RepairWidth)
		}
		r.at += n
	}
}

// next returns the next punctuation mark in its JSON form without consuming it, or 0 if something else follows.
func (r *reader) next() rune {
	r.skipSpace()
	c, _ := r.peek()
	if usual, ok := punctuation[c]; ok {
		return usual
	}
	if strings.ContainsRune("{}[]:,", c) {
		return c
	}

	return 0
}

// take consumes the next punctuation mark.
func (r *reader) take() {
	c, n := r.peek()
	if _, ok := punctuation[c]; ok {
		r.repaired(RepairWidth)
	}
	r.at += n
}

func (r *reader) value(depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch r.next() {
	case '{':
		return r.list(depth, '}', r.member)
	case '[':
		return r.list(depth, ']', r.value)
	case 0:
		if c, _ := r.peek(); closers[c] != 0 {
			return r.quoted()
		}

		return r.literal()
	}

	return false
}

// list reads a bracketed list of comma-separated parts, including its brackets.
func (r *reader) list(depth int, closing rune, part func(depth int) bool) bool {
	c, _ := r.peek()
	if usual, ok := punctuation[c]; ok {
		c = usual
	}
	r.out.WriteRune(c)
	r.take()

	for n := 0; ; n++ {
		if r.next() == closing {
			if n > 0 {
				r.repaired(RepairComma)
			}

			break
		}
		if n > 0 {
			r.out.WriteByte(',')
		}
		if !part(depth + 1) {
			return false
		}
		mark := r.next()
		if mark == closing {
			break
		}
		if mark != ',' {
			return false
		}
		r.take()
	}
	r.out.WriteRune(closing)
	r.take()

	return true
}

func (r *reader) member(depth int) bool {
	r.skipSpace()
	c, _ := r.peek()
	var named bool
	if closers[c] != 0 {
		named = r.quoted()
	} else {
		named = r.bareKey()
	}
	if !named || r.next() != ':' {
		return false
	}
	r.take()
	r.out.WriteByte(':')

	return r.value(depth)
}

// word consumes and returns the letters, digits and signs that follow.
func (r *reader) word() string {
	rest := r.text[r.at:]
	end := strings.IndexFunc(rest, func(c rune) bool {
		return !(unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("_+-.", c))
	})
	if end < 0 {
		end = len(rest)
	}
	r.at += end

	return rest[:end]
}

func (r *reader) bareKey() bool {
	word := r.word()
	if word == "" {
		return false
	}
	r.repaired(RepairKey)
	r.out.WriteString(`"` + word + `"`)

	return true
}

// literals maps Python's constants to JSON's.
var literals = map[string]string{"True": "true", "False": "false", "None": "null"}

func (r *reader) literal() bool {
	word := r.word()
	if usual, ok := literals[word]; ok {
		r.repaired(RepairLiteral)
		word = usual
	}
	r.out.WriteString(word)

	return json.Valid([]byte(word))
}

// quoted reads a quoted text.
func (r *reader) quoted() bool {
	opening, n := r.peek()
	switch opening {
	case '"':
	case '\'':
		r.repaired(RepairQuotes)
	default:
		r.repaired(RepairWidth)
	}
	r.at += n
	r.out.WriteByte('"')
	for r.at < len(r.text) {
		c, n := r.peek()
		if c == closers[opening] {
			r.at += n
			r.out.WriteByte('"')

			return true
		}
		switch {
		case c == '\\':
			r.escape()

			continue
		case c == '"':
			r.out.WriteString(`\"`)
		case c < ' ':
			r.repaired(RepairBreak)
			control, _ := json.Marshal(string(c)) // encoding a rune never fails
			r.out.WriteString(strings.Trim(string(control), `"`))
		default:
			r.out.WriteString(r.text[r.at : r.at+n])
		}
		r.at += n
	}

	return false
}

// escape reads a backslash and the character after it. A backslash that escapes nothing in JSON stands for itself,
// except before a single quote.
func (r *reader) escape() {
	r.at++
	c, n := r.peek()
	switch {
	case c == 'u' && isHex(r.text[r.at+1:]), c != 'u' && strings.ContainsRune(`"\/bfnrt`, c):
		r.out.WriteByte('\\')
	case c == '\'':
		r.repaired(RepairEscape)
	default:
		r.repaired(RepairEscape)
		r.out.WriteString(`\\`)

		return
	}
	r.out.WriteString(r.text[r.at : r.at+n])
	r.at += n
}

// isHex reports whether a text begins with four hexadecimal digits.
func isHex(s string) bool {
	if len(s) < 4 {
		return false
	}

	return strings.IndexFunc(s[:4], func(c rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF", c) }) < 0
}
