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

// foundObject is a JSON object found in a model's text.
type foundObject struct {
	json    string   // well-formed, unless it could not be repaired
	from    int      // byte offset at which it begins in the text
	to      int      // byte offset just past its end
	repairs []Repair // the deviations from JSON that were repaired
}

// readObject returns the first object of a text. It returns false if the text has no object, or one that never ends. An
// object that ends but cannot be repaired is returned unchanged.
func readObject(text string) (foundObject, bool) {
	raw, balanced := firstObject(text)
	strict := foundObject{json: raw, from: strings.Index(text, raw)}
	strict.to = strict.from + len(raw)
	if balanced && json.Valid([]byte(raw)) {
		return strict, true
	}

	from := strings.IndexAny(text, "{｛")
	if from < 0 {
		return foundObject{}, false
	}
	r := reader{text: text[:min(len(text), from+maxSearched)], at: from}
	if r.readValue(0) && json.Valid([]byte(r.out.String())) {
		return foundObject{json: r.out.String(), from: from, to: r.at, repairs: r.repairs}, true
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

func (r *reader) note(what Repair) {
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
			r.note(RepairWidth)
		}
		r.at += n
	}
}

// nextMark returns the next punctuation mark in its JSON form without consuming it, or 0 if something else follows.
func (r *reader) nextMark() rune {
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

// skipMark consumes the next punctuation mark.
func (r *reader) skipMark() {
	c, n := r.peek()
	if _, ok := punctuation[c]; ok {
		r.note(RepairWidth)
	}
	r.at += n
}

func (r *reader) readValue(depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch r.nextMark() {
	case '{':
		return r.readList(depth, '}', r.readMember)
	case '[':
		return r.readList(depth, ']', r.readValue)
	case 0:
		if c, _ := r.peek(); closers[c] != 0 {
			return r.readQuoted()
		}

		return r.readLiteral()
	}

	return false
}

// readList reads a bracketed list of comma-separated parts, including its brackets.
func (r *reader) readList(depth int, closing rune, part func(depth int) bool) bool {
	c, _ := r.peek()
	if usual, ok := punctuation[c]; ok {
		c = usual
	}
	r.out.WriteRune(c)
	r.skipMark()

	for n := 0; ; n++ {
		if r.nextMark() == closing {
			if n > 0 {
				r.note(RepairComma)
			}

			break
		}
		if n > 0 {
			r.out.WriteByte(',')
		}
		if !part(depth + 1) {
			return false
		}
		mark := r.nextMark()
		if mark == closing {
			break
		}
		if mark != ',' {
			return false
		}
		r.skipMark()
	}
	r.out.WriteRune(closing)
	r.skipMark()

	return true
}

func (r *reader) readMember(depth int) bool {
	r.skipSpace()
	c, _ := r.peek()
	var named bool
	if closers[c] != 0 {
		named = r.readQuoted()
	} else {
		named = r.readBareKey()
	}
	if !named || r.nextMark() != ':' {
		return false
	}
	r.skipMark()
	r.out.WriteByte(':')

	return r.readValue(depth)
}

// readWord consumes and returns the letters, digits and signs that follow.
func (r *reader) readWord() string {
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

func (r *reader) readBareKey() bool {
	word := r.readWord()
	if word == "" {
		return false
	}
	r.note(RepairKey)
	r.out.WriteString(`"` + word + `"`)

	return true
}

// literals maps Python's constants to JSON's.
var literals = map[string]string{"True": "true", "False": "false", "None": "null"}

func (r *reader) readLiteral() bool {
	word := r.readWord()
	if usual, ok := literals[word]; ok {
		r.note(RepairLiteral)
		word = usual
	}
	r.out.WriteString(word)

	return json.Valid([]byte(word))
}

// readQuoted reads a quoted text.
func (r *reader) readQuoted() bool {
	opening, n := r.peek()
	switch opening {
	case '"':
	case '\'':
		r.note(RepairQuotes)
	default:
		r.note(RepairWidth)
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
			r.readEscape()

			continue
		case c == '"':
			r.out.WriteString(`\"`)
		case c < ' ':
			r.note(RepairBreak)
			control, _ := json.Marshal(string(c)) // encoding a rune never fails
			r.out.WriteString(strings.Trim(string(control), `"`))
		default:
			r.out.WriteString(r.text[r.at : r.at+n])
		}
		r.at += n
	}

	return false
}

// readEscape reads a backslash and the character after it. A backslash that escapes nothing in JSON stands for itself,
// except before a single quote.
func (r *reader) readEscape() {
	r.at++
	c, n := r.peek()
	switch {
	case c == 'u' && isHex(r.text[r.at+1:]), c != 'u' && strings.ContainsRune(`"\/bfnrt`, c):
		r.out.WriteByte('\\')
	case c == '\'':
		r.note(RepairEscape)
	default:
		r.note(RepairEscape)
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
