package infer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/test/kit/testrun"
)

// goodPrompt is a valid prompt.
const goodPrompt = "Goal: g\nHistory: none\nScreen:\n0 button Send"

// checkRefusals checks that the refusal of a wrong request names the member, and that the refusal of a wrong screen
// shows the right forms.
func checkRefusals(t *testing.T, r *testrun.Run, sys infer.TrainedSystem) {
	url := serve(t, sys, r.Deps.Chat, "")
	image := object{"type": "image_url", "image_url": object{"url": "data:"}}

	for _, c := range []struct {
		name    string
		content any
		more    object
		status  int // 0 means 400
		want    string
	}{
		{name: "another model", content: goodPrompt, more: object{"model": "gpt"}, status: http.StatusNotFound,
			want: `the model "gpt" does not exist`},
		{name: "two answers", content: goodPrompt, more: object{"n": 2},
			want: "n: expected 1 (the system decides once), not 2"},
		{name: "temperature", content: goodPrompt, more: object{"temperature": -1}, want: "temperature: expected"},
		{name: "a text for a number", content: goodPrompt, more: object{"temperature": "hot"},
			want: `temperature: expected a number from 0 to 10, not "hot"`},
		{name: "top_p", content: goodPrompt, more: object{"top_p": 1.5}, want: "top_p: expected"},
		{name: "max_tokens", content: goodPrompt, more: object{"max_tokens": 0}, want: "max_tokens: expected"},
		{name: "max_completion_tokens", content: goodPrompt, more: object{"max_completion_tokens": 0.5},
			want: "max_completion_tokens: expected"},
		{name: "too short for an action", content: goodPrompt, more: object{"max_tokens": 1},
			want: "holds an action within 1 tokens"},
		{name: "five stops", content: goodPrompt, more: object{"stop": []string{"a", "b", "c", "d", "e"}},
			want: "stop: expected a text or a list of up to 4"},
		{name: "an empty stop", content: goodPrompt, more: object{"stop": ""}, want: "none of them empty"},
		{name: "a number for a stop", content: goodPrompt, more: object{"stop": 7}, want: "stop: expected"},
		{name: "a tool that must be called", content: goodPrompt, more: object{"tool_choice": "required"},
			want: "tool_choice: expected none or auto"},
		{name: "a named function", content: goodPrompt, more: object{"function_call": object{"name": "f"}},
			want: "function_call: expected none or auto"},
		{name: "JSON", content: goodPrompt, more: object{"response_format": object{"type": "json_object"}},
			want: `response_format: expected {"type": "text"}`},
		{name: "speech", content: goodPrompt, more: object{"modalities": []string{"text", "audio"}},
			want: "modalities: expected"},
		{name: "another member of ours", content: goodPrompt, more: object{"collabui": object{"matrx": true}},
			want: `collabui: expected {"matrix": true}`},

		{name: "no messages", content: goodPrompt, more: object{"messages": []any{}}, want: "none is the user's"},
		{name: "messages that are none", content: goodPrompt, more: object{"messages": "hello"},
			want: "messages: expected a list of messages"},
		{name: "a message without a role", content: goodPrompt, more: object{"messages": []any{"hello"}},
			want: `messages[0]: expected {"role": …`},
		{name: "a tool's result", content: goodPrompt, more: object{"messages": []any{
			object{"role": "user", "content": goodPrompt}, object{"role": "tool", "content": "42"},
		}}, want: "messages[1]: the last message must be the user's, not one of the tool"},
		{name: "an image", content: []any{image}, want: "take no images"},
		{name: "a number", content: 7, want: "expected a text or a list of parts"},

		{name: "only words", content: "Click on Send", want: "Goal: "},
		{name: "no history", content: "Goal: g\nScreen:\n0 button Send", want: "second line is neither"},
		{name: "no screen", content: "Goal: g\nHistory:\n1 click", want: "not followed by a line"},
		{name: "no line before the screen", content: "Goal: g\nHistory: none\n0 button Send", want: "must follow"},
		{name: "no element", content: "Goal: g\nHistory: none\nScreen:\nSend", want: "is not an element"},
		{name: "an index twice", content: "Goal: g\nHistory: none\nScreen:\n0 a\n0 b",
			want: "two elements have the index 0"},
		{name: "an own message", content: goodPrompt + "\nYou said: x", want: "leave out what agents said"},
		{name: "a peer's message", content: goodPrompt + "\nAgent 1 said, maybe wrong: x",
			want: "leave out what agents said"},
		{name: "a screen that is not whole", content: goodPrompt + "\nLeft out: 3 elements", want: "the whole screen"},

		{name: "JSON without a screen", content: `{"goal":"g"}`, want: `one of "elements" and "observation"`},
		{name: "JSON with two screens", content: `{"goal":"g","elements":[],"observation":{}}`,
			want: `one of "elements" and "observation"`},
		{name: "JSON without a goal", content: `{"goal":" ","elements":[]}`, want: "the goal is empty"},
		{name: "an element without a role", content: `{"goal":"g","elements":[{"text":"Send"}]}`,
			want: `must have a "role"`},
		{name: "JSON with an index twice",
			content: `{"goal":"g","elements":[{"i":1,"role":"a"},{"i":1,"role":"b"}]}`, want: "of its own"},
		{name: "JSON with another key", content: `{"goal":"g","elements":[],"x":1}`, want: "unknown field"},
		{name: "text after JSON", content: `{"goal":"g","elements":[]} more`, want: "observation"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.status
			if want == 0 {
				want = http.StatusBadRequest
			}
			status, a := postChat(t, url, c.content, c.more)
			if status != want || a.Error == nil {
				t.Fatalf("the status = %d, %+v; want %d and an error", status, a.Error, want)
			}
			if !strings.Contains(a.Error.Message, c.want) || a.Error.Type != "invalid_request_error" {
				t.Errorf("the error = %+v, want an invalid_request_error with %q", a.Error, c.want)
			}
			text, ok := c.content.(string)
			if ok && text != goodPrompt && !strings.Contains(a.Error.Message, infer.Forms) {
				t.Errorf("the error = %s, want it to show both forms", a.Error.Message)
			}
		})
	}

	large := bytes.Repeat([]byte(" "), 16<<20+1)
	if status, a := post(t, url, large, ""); status != http.StatusRequestEntityTooLarge || a.Error == nil {
		t.Errorf("a large body is answered by %d, %+v; want 413 and an error", status, a.Error)
	}
	res, _ := get(t, url+"/v1/chat/completions")
	if form := res.Header.Get("Content-Type"); res.StatusCode != http.StatusNotFound || form != "application/json" {
		t.Errorf("a GET is answered by %d as %s, want 404 as JSON", res.StatusCode, form)
	}
}

// failingModel is a model that always returns an error.
type failingModel struct{ err error }

func (f failingModel) Complete(context.Context, chat.Request) (chat.Response, error) {
	return chat.Response{}, f.err
}

// checkFailures checks the status of faults of the policies.
func checkFailures(t *testing.T, sys infer.TrainedSystem) {
	for kind, want := range map[fault.Kind]int{
		fault.Throttled: http.StatusTooManyRequests,
		fault.Transient: http.StatusServiceUnavailable,
		fault.Invalid:   http.StatusBadGateway,
		fault.Fatal:     http.StatusInternalServerError,
	} {
		t.Run(string(kind), func(t *testing.T) {
			url := serve(t, sys, failingModel{fault.After(kind, 1500*time.Millisecond, "down")}, "")
			status, a := postChat(t, url, goodPrompt, nil)
			if status != want || a.Error == nil || !strings.Contains(a.Error.Message, "down") {
				t.Errorf("the status = %d, %+v; want %d, down", status, a.Error, want)
			}
		})
	}
}

// muteModel is a model whose answers contain no action.
type muteModel struct{}

func (muteModel) Complete(_ context.Context, q chat.Request) (chat.Response, error) {
	return chat.Response{Texts: slices.Repeat([]string{"hm"}, max(1, q.N))}, nil
}

// checkUndecided checks that the response keeps clients from repeating a request that cannot be decided.
func checkUndecided(t *testing.T, sys infer.TrainedSystem) {
	res, body := raw(t, serve(t, sys, muteModel{}, ""), nil)
	if res.StatusCode != http.StatusBadGateway || !strings.Contains(body, `"code":"no_action"`) {
		t.Errorf("answers without an action make %d %s, want 502 with no_action", res.StatusCode, body)
	}
	if got := res.Header.Get("X-Should-Retry"); got != "false" {
		t.Errorf("X-Should-Retry is %q, want false", got)
	}
}

// checkKeys checks that a server with a key answers only clients that send it.
func checkKeys(t *testing.T, r *testrun.Run, sys infer.TrainedSystem) {
	url := serve(t, sys, r.Deps.Chat, "secret")
	body, err := json.Marshal(object{"messages": []any{
		object{"role": "user", "content": `{"goal":"g","elements":[{"role":"button","text":"g"}]}`},
	}})
	if err != nil {
		t.Fatal(err)
	}

	for key, want := range map[string]int{
		"":       http.StatusUnauthorized,
		"wrong":  http.StatusUnauthorized,
		"secret": http.StatusOK,
	} {
		status, a := post(t, url, body, key)
		if status != want {
			t.Errorf("the key %q is answered by %d, %+v; want %d", key, status, a.Error, want)
			continue
		}
		if want == http.StatusOK {
			continue
		}
		if a.Error.Code != "invalid_api_key" || strings.Contains(a.Error.Message, "secret") {
			t.Errorf("the key %q is refused with %+v, want invalid_api_key without the right key", key, a.Error)
		}
	}

	if res, _ := get(t, url+"/health"); res.StatusCode != http.StatusOK {
		t.Errorf("/health without a key is answered by %d, want 200", res.StatusCode)
	}
}
