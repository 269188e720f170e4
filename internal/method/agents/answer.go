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

// ParseAnswer finds the action of a text: the first balanced JSON object after the last "Action:". Braces inside
// strings do not count, nor does an "Action:" inside an object, so text that an agent copies from a page is not its
// own action.
func ParseAnswer(text string) (domain.Action, error) {
	const mark = "Action:"
	last := ""
	for range maxStarts {
		at := strings.Index(text, mark)
		if at < 0 {
			break
		}
		text = text[at+len(mark):]
		if raw, ok := firstObject(text); ok {
			last, text = raw, text[strings.Index(text, raw)+len(raw):]
		}
	}
	if last == "" {
		return domain.Action{}, ErrNoAction
	}

	return domain.ParseAction([]byte(last))
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
