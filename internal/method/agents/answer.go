package agents

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/collabui/collabui/domain"
)

// ErrNoAction means that an answer has no Action line with a JSON object.
var ErrNoAction = errors.New("answer has no 'Action: {json}'")

// Bounds of the search for an object in a text that a model wrote.
const (
	maxSearched = 1 << 18 // bytes
	maxStarts   = 200
)

// mark begins the action of an answer.
const mark = "Action:"

// ParseAnswer finds the action of a text: the first balanced JSON object after the last "Action:". Braces inside
// strings do not count, nor does an "Action:" inside an object, so text that an agent copies from a page is not its
// own action.
func ParseAnswer(text string) (domain.Action, error) {
	_, raw := lastAction(text)
	if raw == "" {
		return domain.Action{}, ErrNoAction
	}

	return domain.ParseAction([]byte(raw))
}

// lastAction returns the object after the last "Action:" that has one, and the text before that "Action:". Both are
// empty if there is none.
func lastAction(text string) (before, raw string) {
	at := 0 // end of what is searched
	for range maxStarts {
		n := strings.Index(text[at:], mark)
		if n < 0 {
			break
		}
		start := at + n
		at = start + len(mark)
		if object, ok := firstObject(text[at:]); ok {
			before, raw = text[:start], object
			at += strings.Index(text[at:], object) + len(object)
		}
	}

	return before, raw
}

// FindObject returns the first JSON object of a text that has the key. A code fence and other text around it are
// ignored.
func FindObject(text, key string) (string, bool) {
	text = text[:min(len(text), maxSearched)]
	for range maxStarts {
		at := strings.IndexByte(text, '{')
		if at < 0 {
			return "", false
		}
		text = text[at:]
		if raw, ok := firstObject(text); ok {
			var o map[string]json.RawMessage
			if json.Unmarshal([]byte(raw), &o) == nil {
				if o[key] != nil {
					return raw, true
				}
				text = text[len(raw):] // an object inside another one is not the answer

				continue
			}
		}
		text = text[1:]
	}

	return "", false
}

// firstObject returns the text from the first opening brace to the one that closes it.
func firstObject(s string) (string, bool) {
	start, depth, quoted := strings.IndexByte(s, '{'), 0, false
	if start < 0 {
		return "", false
	}
	for i := start; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return s[start : i+1], true
			}
		}
	}

	return "", false
}
