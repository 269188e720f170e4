package agents

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/collabui/collabui/domain"
)

// ErrNoAction says that an answer holds no Action line with one JSON object.
var ErrNoAction = errors.New("answer has no 'Action: {json}'")

// ParseAnswer finds the action of a text: the first balanced JSON object behind the last "Action:". Braces inside strings do not count, nor does an "Action:"
// inside an object: text that an agent copies from a page is no action of its own.
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

// Bounds of the search for an object in a text that a model wrote.
const (
	maxSearched = 1 << 18
	maxStarts   = 200
)

// FindObject gives the first JSON object of a text that has a key: with or without a code fence, and whatever stands around it.
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
				text = text[len(raw):] // what is inside another object is not the answer
				continue
			}
		}
		text = text[1:]
	}
	return "", false
}
