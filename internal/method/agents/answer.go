package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/collabui/collabui/domain"
)

// ErrNoAction is returned if an answer has no "Action:" followed by a JSON object.
var ErrNoAction = errors.New("answer has no 'Action: {json}'")

// Bounds on the search for an object in a model's text.
const (
	maxSearched = 1 << 18 // bytes
	maxStarts   = 200
)

// mark precedes the action in an answer.
const mark = "Action:"

// marks matches the mark and the variants of it that models write.
var marks = regexp.MustCompile(`Action[:：]|(?im:^[ \t*#>-]*action[*_ ]*[:：])`)

// Parsing specifies how agents' answers are read. The zero value behaves as Usual.
type Parsing string

// The ways of parsing.
const (
	Usual  Parsing = "usual"  // applies the repairs of docs/method.md, What is read
	Strict Parsing = "strict" // accepts only the form that the prompt specifies
)

// ParseAnswer parses the action of a text as Usual does: the JSON object after the last "Action:". Braces inside
// strings are not counted, and an "Action:" inside an object is ignored, so text that an agent copies from a page is
// not taken for its action.
func ParseAnswer(text string) (domain.Action, error) { return Usual.Answer(text) }

// Answer parses the action of a text. Acts of speech are errors. The error is ErrNoAction if the text has no action, or
// explains why its object is not a valid action.
func (p Parsing) Answer(text string) (domain.Action, error) {
	a := p.read(text)
	if a.err == nil {
		a.err = refuseSpeech(a.action)
	}

	return a.action, a.err
}

// ParseMessage parses the action or the act of speech of a message as Usual does. It returns false if it has neither.
func ParseMessage(text string) (domain.Action, bool) {
	a := Usual.read(text)

	return a.action, a.err == nil
}

// refuseSpeech returns an error for an act of speech, where agents may only act.
func refuseSpeech(action domain.Action) error {
	if action.Speech() {
		return fmt.Errorf("%s is no action: agents may not speak here", action.Type)
	}

	return nil
}

// answer is the result of parsing an agent's text.
type answer struct {
	before  string // the text before "Action:"
	object  string // the action as JSON; empty if the text has no action
	action  domain.Action
	repairs []Repair
	err     error
}

func (p Parsing) read(text string) answer {
	if p == Strict {
		return readStrict(text)
	}

	return readRepaired(text)
}

// readStrict reads the object that follows the last "Action:", if any, and repairs nothing.
func readStrict(text string) answer {
	out := answer{err: ErrNoAction}
	searched := 0 // end of the text searched so far
	for range maxStarts {
		n := strings.Index(text[searched:], mark)
		if n < 0 {
			break
		}
		start := searched + n
		searched = start + len(mark)
		if object, ok := firstObject(text[searched:]); ok {
			out.before = text[:start]
			out.object = object
			searched += strings.Index(text[searched:], object) + len(object)
		}
	}
	if out.object != "" {
		out.action, out.err = domain.ParseAction([]byte(out.object))
	}

	return out
}

// readRepaired reads the object that follows the last mark, in any of its forms. If there is no such object, it reads
// the one that makes up the whole answer or the code fence at its end.
func readRepaired(text string) answer {
	before, object, ok := lastObject(text)
	if !ok {
		before, object, ok = bareObject(text)
	}
	if !ok {
		return answer{err: ErrNoAction}
	}
	action, repairs, err := ReadAction([]byte(object.json))

	return answer{
		before: before, object: object.json, action: action, repairs: append(object.repairs, repairs...), err: err,
	}
}

// lastObject returns the object that follows the last mark, and the text before that mark. Variants of the mark count
// only until a line in the specified form has been read.
func lastObject(text string) (before string, last foundObject, ok bool) {
	searched := 0      // end of the text searched so far
	specified := false // a line in the specified form has been read
	for range maxStarts {
		place := marks.FindStringIndex(text[searched:])
		if place == nil {
			break
		}
		start := searched + place[0]
		searched += place[1]
		isSpecified := strings.HasSuffix(text[start:searched], mark)
		if isSpecified {
			start = searched - len(mark)
		}
		if specified && !isSpecified {
			continue
		}
		if object, found := readObject(text[searched:]); found {
			before = text[:start]
			last = object
			ok = true
			if !isSpecified {
				last.repairs = append([]Repair{RepairMark}, last.repairs...)
			}
			specified = specified || isSpecified && len(object.repairs) == 0 && beginsLine(text, start)
			searched += object.to
		}
	}

	return before, last, ok
}

// beginsLine reports whether only blanks precede a position in its line.
func beginsLine(text string, at int) bool {
	before := strings.TrimRight(text[:at], " \t")

	return before == "" || strings.HasSuffix(before, "\n")
}

// fence delimits code in an answer.
const fence = "```"

func bareObject(text string) (before string, object foundObject, ok bool) {
	text = strings.TrimSpace(text)
	if inside, fenced := strings.CutSuffix(text, fence); fenced {
		start := strings.LastIndex(inside, fence)
		if start < 0 {
			return "", foundObject{}, false
		}
		before = inside[:start]
		text = strings.TrimLeftFunc(inside[start+len(fence):], unicode.IsLetter) // the name of a language
		text = strings.TrimSpace(text)
	}
	object, ok = readObject(text)
	object.repairs = append([]Repair{RepairBare}, object.repairs...)

	return before, object, ok && object.from == 0 && object.to == len(text)
}

// FindObject returns the last JSON object of a text that has the key. The last one counts, as for an agent's action,
// because earlier ones are drafts. The JSON is repaired as Usual does. A code fence and other text around the object
// are ignored, and nested objects do not count.
func FindObject(text, key string) (last string, ok bool) {
	text = text[:min(len(text), maxSearched)]
	for range maxStarts {
		at := strings.IndexAny(text, "{｛")
		if at < 0 {
			break
		}
		text = text[at:]
		var members map[string]json.RawMessage
		object, whole := readObject(text)
		if !whole || json.Unmarshal([]byte(object.json), &members) != nil {
			text = text[1:]

			continue
		}
		if members[key] != nil {
			last = object.json
			ok = true
		}
		text = text[object.to:]
	}

	return last, ok
}

// firstObject returns the text from the first opening brace to its matching closing brace.
func firstObject(text string) (string, bool) {
	start := strings.IndexByte(text, '{')
	depth := 0
	quoted := false
	if start < 0 {
		return "", false
	}
	for i := start; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return text[start : i+1], true
			}
		}
	}

	return "", false
}
