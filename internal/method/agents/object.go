package agents

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDepth bounds the nesting of what a model writes.
const maxDepth = 64

// found is a JSON object in a text that a model wrote.
type found struct {
	json    string   // well-formed, unless it cannot be read
	from    int      // where it begins in the text
	to      int      // where it ends
	repairs []Repair // what had to be read in another way than JSON is
}

// readObject returns the first object of a text. It is false if the text has none, or one that never ends. An object
// that ends but cannot be read is returned as it is.
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

// reader reads JSON as models write it, and writes it as JSON is. Its methods are false if the text cannot be read.
type reader struct {
	text    string
	at      int
	out     strings.Builder
	repairs []Repair
}

// punctuation holds what JSON uses, by its full-width form.
var punctuation = map[rune]rune{'｛': '{', '｝': '}', '［': '[', '］': ']', '：': ':', '，': ','}

// closers holds the quotes that end a text, by those that begin it.
var closers = map[rune]rune{'"': '"', '\'': '\'', '“': '”', '‘': '’', '＂': '＂', '＇': '＇'}

func (r *reader) repaired(what Repair) {
	if !slices.Contains(r.repairs, what) {
		r.repairs = append(r.repairs, what)
	}
}

// peek returns the next rune, or utf8.RuneError at the end, and its length.
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

// next returns the next mark of punctuation as JSON has it, and writes nothing. It is 0 if something else follows.
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

// take moves behind the next mark of punctuation.
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

// list reads what is between two brackets, with commas between the parts.
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

// word returns the letters, digits and signs that follow.
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

// literals holds the constants of Python.
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

// quoted reads a text in quotes.
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
			control, _ := json.Marshal(string(c)) // a rune always encodes
			r.out.WriteString(strings.Trim(string(control), `"`))
		default:
			r.out.WriteString(r.text[r.at : r.at+n])
		}
		r.at += n
	}

	return false
}

// escape reads a backslash and what follows it. A backslash that escapes nothing in JSON stands for itself, except
// before a single quote.
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
