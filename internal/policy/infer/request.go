package infer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/method/agents"
)

// IgnoredHeader is a response header that lists the members of a request that had no effect.
const IgnoredHeader = "Collabui-Ignored"

// Bounds on IgnoredHeader.
const (
	maxIgnored = 20 // number of names
	maxName    = 40 // characters of a name
)

// maxStops is the maximum number of texts at which an answer can stop.
const maxStops = 4

// chatRequest holds the members of a request of the OpenAI chat API that the server uses. Other members have no effect,
// and are refused if the answer would be wrong without them.
type chatRequest struct {
	Model               string
	Messages            []json.RawMessage
	Seed                int64
	Temperature         *float64
	TopP                *float64
	N                   *int
	MaxTokens           *int
	MaxCompletionTokens *int
	Stop                stops
	Stream              bool
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	}
	Collabui ownMembers

	ignored []string // names of members without an effect, sorted
}

// ownMembers is the member of requests that only this server has.
type ownMembers struct {
	Matrix bool `json:"matrix"`
}

// UnmarshalJSON refuses unknown members, because no client of another server sends any here.
func (o *ownMembers) UnmarshalJSON(raw []byte) error {
	type plain ownMembers

	return decodeStrict(strings.NewReader(string(raw)), (*plain)(o))
}

// stops lists texts at which an answer ends.
type stops []string

// UnmarshalJSON accepts one text or a list.
func (s *stops) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*s = stops{one}

		return nil
	}

	return json.Unmarshal(raw, (*[]string)(s))
}

// cut returns a text up to the first stop in it.
func (s stops) cut(text string) string {
	end := len(text)
	for _, stop := range s {
		if i := strings.Index(text, stop); i >= 0 {
			end = min(end, i)
		}
	}

	return text[:end]
}

// member is a member of a request, with the destination and the check of its value.
type member struct {
	name  string
	to    any
	valid func() bool // if nil, every value of the type is valid
	want  string
}

func (q *chatRequest) members() []member {
	positive := func(n **int) func() bool { return func() bool { return *n == nil || **n >= 1 } }
	within := func(x **float64, most float64) func() bool {
		return func() bool { return *x == nil || **x >= 0 && **x <= most }
	}
	const tokens = "a whole number from 1 (it bounds the answer of every agent)"

	return []member{
		{"model", &q.Model, nil, "a text"},
		{"messages", &q.Messages, nil, "a list of messages"},
		{"seed", &q.Seed, nil, "a whole number"},
		{"temperature", &q.Temperature, within(&q.Temperature, 10), "a number from 0 to 10"},
		{"top_p", &q.TopP, within(&q.TopP, 1), "a number from 0 to 1"},
		{"n", &q.N, func() bool { return q.N == nil || *q.N == 1 }, "1 (the system decides once)"},
		{"max_tokens", &q.MaxTokens, positive(&q.MaxTokens), tokens},
		{"max_completion_tokens", &q.MaxCompletionTokens, positive(&q.MaxCompletionTokens), tokens},
		{"stop", &q.Stop, q.validStops, fmt.Sprintf("a text or a list of up to %d, none of them empty", maxStops)},
		{"stream", &q.Stream, nil, "true or false"},
		{"stream_options", &q.StreamOptions, nil, `{"include_usage": true} or {"include_usage": false}`},
		{"collabui", &q.Collabui, nil, `{"matrix": true} or {"matrix": false}`},
	}
}

func (q *chatRequest) validStops() bool {
	return len(q.Stop) <= maxStops && !slices.Contains(q.Stop, "")
}

// refuse returns the refusal of a request with a wrong member.
func refuse(param, format string, args ...any) error {
	return &httpd.Refusal{Status: http.StatusBadRequest, Param: param, Err: fmt.Errorf(format, args...)}
}

// read decodes a request and checks everything except the model's name and the messages.
func (q *chatRequest) read(reader io.Reader) error {
	var all map[string]json.RawMessage
	raw, err := io.ReadAll(reader)
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return httpd.Refuse(http.StatusRequestEntityTooLarge, "the request is larger than %d bytes", tooLarge.Limit)
	case err != nil:
		return refuse("", "expected one JSON object, such as %s: %w", example, err)
	}

	maps.DeleteFunc(all, func(_ string, raw json.RawMessage) bool { return string(raw) == "null" })
	for _, m := range q.members() {
		raw, ok := all[m.name]
		delete(all, m.name)
		if ok && (json.Unmarshal(raw, m.to) != nil || m.valid != nil && !m.valid()) {
			return refuse(m.name, "%s: expected %s, not %s", m.name, m.want, agents.Line(string(raw), 60))
		}
	}

	q.ignored = slices.Sorted(maps.Keys(all))
	for _, name := range q.ignored {
		if err := checkIgnored(name, all[name]); err != nil {
			return err
		}
	}

	return nil
}

// example is the shortest valid request.
const example = `{"messages": [{"role": "user", "content": "Goal: …"}]}`

// checkIgnored returns a refusal if ignoring the member would make the answer wrong for a client that relies on it.
func checkIgnored(name string, raw json.RawMessage) error {
	ok := true
	want := ""
	switch name {
	case "tool_choice", "function_call":
		ok = slices.Contains([]string{`"none"`, `"auto"`}, string(raw))
		want = "none or auto (the agents call no tools)"
	case "response_format":
		var f struct{ Type string }
		ok = json.Unmarshal(raw, &f) == nil && f.Type == "text"
		want = `{"type": "text"} (agents answer with a reason and an action)`
	case "modalities":
		var list []string
		ok = json.Unmarshal(raw, &list) == nil && !slices.ContainsFunc(list, func(m string) bool { return m != "text" })
		want = `["text"]` + " (agents only write)"
	}
	if !ok {
		return refuse(name, "%s: expected %s, not %s", name, want, agents.Line(string(raw), 60))
	}

	return nil
}

// ignoredNames returns the value of IgnoredHeader, which is bounded and contains no characters that are invalid in a
// header.
func (q *chatRequest) ignoredNames() string {
	var names []string
	for _, name := range q.ignored[:min(len(q.ignored), maxIgnored)] {
		name = strings.Map(func(r rune) rune {
			if r <= ' ' || r > '~' || r == ',' {
				return '?'
			}

			return r
		}, name)
		names = append(names, name[:min(len(name), maxName)])
	}
	if more := len(q.ignored) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}

	return strings.Join(names, ", ")
}

func (q *chatRequest) options() Options {
	o := Options{Seed: uint64(q.Seed), Temperature: q.Temperature, TopP: q.TopP, Whole: q.Collabui.Matrix}
	for _, n := range []*int{q.MaxTokens, q.MaxCompletionTokens} {
		if n != nil {
			o.MaxTokens = *n
		}
	}

	return o
}
