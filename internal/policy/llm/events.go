package llm

import (
	"bytes"
	"encoding/json"
	"strings"
)

// values holds the JSON values of a body, in order.
type values struct {
	all      []json.RawMessage
	streamed bool // whether the body is a stream of events
	ended    bool // whether the stream has its end mark
	broken   bool // whether an event is not JSON
}

// valuesOf returns the JSON values of a body: the value of a plain body, or the value of each event of a stream,
// whether or not a stream was requested. Lines before the first value are comments or keep-alives and are skipped.
func valuesOf(body []byte) values {
	rest := bytes.TrimPrefix(body, []byte("\ufeff"))
	for {
		rest = bytes.TrimSpace(rest)
		switch {
		case len(rest) == 0, rest[0] == '<': // a page of HTML may contain scripts
			return values{}
		case rest[0] == '{', rest[0] == '[', rest[0] == '"':
			var value json.RawMessage
			if json.NewDecoder(bytes.NewReader(rest)).Decode(&value) != nil {
				return values{}
			}

			return values{all: []json.RawMessage{value}}
		case bytes.HasPrefix(rest, []byte("data:")):
			return eventsOf(rest)
		}

		_, rest, _ = bytes.Cut(rest, []byte("\n"))
	}
}

// eventsOf returns the values of a stream of server-sent events.
func eventsOf(body []byte) values {
	out := values{streamed: true}
	var pending []byte // an event of several lines
	flush := func() {
		if len(pending) > 0 && json.Valid(pending) {
			out.all = append(out.all, pending)
		} else if len(pending) > 0 {
			out.broken = true
		}

		pending = nil
	}

	for line := range bytes.Lines(body) {
		line = bytes.TrimSpace(line)
		data, isData := bytes.CutPrefix(line, []byte("data:"))
		data = bytes.TrimSpace(data)
		switch {
		case len(line) == 0:
			flush()
		case !isData, len(data) == 0: // a comment, or another field of an event
		case strings.EqualFold(string(data), "[DONE]"):
			out.ended = true
		case len(pending) == 0 && json.Valid(data): // servers differ in the blank lines between events
			out.all = append(out.all, data)
		default:
			pending = append(append(pending, data...), '\n')
		}
	}

	flush()

	return out
}

// isAbsent reports whether a member of a JSON object is missing or null.
func isAbsent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// isEmpty reports whether a member of a JSON object is absent, false, zero, or has no content.
func isEmpty(raw json.RawMessage) bool {
	switch string(raw) {
	case `""`, "{}", "[]", "false", "0":
		return true
	}

	return isAbsent(raw)
}

// isNoError reports whether an error object means that there is no error: all its members are empty, or are words or
// codes of success.
func isNoError(raw json.RawMessage) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return false
	}
	for _, member := range members {
		switch strings.ToLower(strings.Trim(string(member), `"`)) {
		case "0", "200", "success", "ok", "none":
		default:
			if !isEmpty(member) {
				return false
			}
		}
	}

	return true
}
