package infer_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/test/kit/testrun"
)

// raw posts a request and returns the response and its body.
func raw(t *testing.T, url string, q object) (*http.Response, string) {
	t.Helper()
	all := object{"messages": []any{object{"role": "user", "content": goodPrompt}}}
	maps.Copy(all, q)
	body, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}

	return res, string(drain(t, res))
}

// streamedChunk holds the members of a chunk that tests read.
type streamedChunk struct {
	ID, Object string
	Choices    []struct {
		Delta        struct{ Role, Content string }
		FinishReason string `json:"finish_reason"`
	}
	Usage *struct {
		Total int `json:"total_tokens"`
	}
	Collabui *infer.Extension
}

// checkStreaming checks that the chunks of a streamed answer add up to the whole answer.
func checkStreaming(t *testing.T, r *testrun.Run, sys infer.TrainedSystem) {
	url := serve(t, sys, r.Deps.Chat, "")
	_, whole := postChat(t, url, goodPrompt, nil)
	for _, withUsage := range []bool{false, true} {
		res, body := raw(t, url, object{
			"stream": true, "stream_options": object{"include_usage": withUsage}, "collabui": object{"matrix": true},
		})
		if form := res.Header.Get("Content-Type"); form != "text/event-stream" {
			t.Errorf("the content type is %q, want text/event-stream", form)
		}
		events := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
		if last := events[len(events)-1]; last != "data: [DONE]" {
			t.Fatalf("the last event is %q, want data: [DONE]", last)
		}

		var chunks []streamedChunk
		text := ""
		for _, e := range events[:len(events)-1] {
			var c streamedChunk
			if err := json.Unmarshal([]byte(strings.TrimPrefix(e, "data: ")), &c); err != nil {
				t.Fatalf("the event %q: %v, want JSON", e, err)
			}
			for _, x := range c.Choices {
				text += x.Delta.Content
			}
			chunks = append(chunks, c)
		}
		if want := whole.Choices[0].Message.Content; text != want {
			t.Errorf("the stream says %q, want %q", text, want)
		}
		if role := chunks[0].Choices[0].Delta.Role; role != "assistant" {
			t.Errorf("the first chunk has the role %q, want assistant", role)
		}
		end := chunks[2]
		if end.Choices[0].FinishReason != "stop" || end.Collabui == nil || end.Collabui.Decided == nil {
			t.Errorf("the third chunk = %+v, want the end with the matrix", end)
		}
		if got := len(chunks) == 4 && chunks[3].Usage != nil && len(chunks[3].Choices) == 0; got != withUsage {
			t.Errorf("%d chunks end with usage: %v, want %v", len(chunks), got, withUsage)
		}
	}

	if res, body := raw(t, url, object{"stream": true, "n": 2}); res.StatusCode != http.StatusBadRequest {
		t.Errorf("a wrong request for a stream is answered by %d %s, want 400", res.StatusCode, body)
	}
}

// stops checks that an answer ends before the first stop text.
func stops(t *testing.T, r *testrun.Run, sys infer.TrainedSystem) {
	url := serve(t, sys, r.Deps.Chat, "")
	_, whole := postChat(t, url, goodPrompt, nil)
	text := whole.Choices[0].Message.Content
	before, _, _ := strings.Cut(text, "Action:")
	for _, stop := range []any{"Action:", []string{"click", "Action:"}, []string{"never said"}} {
		_, got := postChat(t, url, goodPrompt, object{"stop": stop})
		want := before
		if fmt.Sprint(stop) == "[never said]" {
			want = text
		}
		if c := got.Choices[0]; c.Message.Content != want || c.FinishReason != "stop" {
			t.Errorf("with the stop %v the answer is %+v, want %q", stop, c, want)
		}
	}
	if before == text {
		t.Errorf("the answer is %q, want one with a stop in it", text)
	}
}

// checkIgnoredMembers checks that members without an effect are named and have no effect.
func checkIgnoredMembers(t *testing.T, r *testrun.Run, sys infer.TrainedSystem) {
	url := serve(t, sys, r.Deps.Chat, "")
	_, whole := postChat(t, url, goodPrompt, nil)
	many := object{}
	for i := range 30 {
		many[fmt.Sprintf("x%02d", i)] = 1
	}
	first := strings.Join(slices.Sorted(maps.Keys(many))[:20], ", ")
	for want, more := range map[string]object{
		"": {"stop": nil, "logprobs": nil, "seed": 0},
		"foo, logprobs, tool_choice, tools, user": {
			"logprobs": true, "foo": object{}, "user": "u", "tools": []any{}, "tool_choice": "auto",
		},
		"modalities, response_format": {
			"modalities": []string{"text"}, "response_format": object{"type": "text"},
		},
		first + ", and 10 more":            many,
		"a??b??" + strings.Repeat("x", 34): {"a\r\nb, " + strings.Repeat("x", 500): 1},
	} {
		res, body := raw(t, url, more)
		var a answer
		if err := json.Unmarshal([]byte(body), &a); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("with %v the answer is %d %s, want 200", more, res.StatusCode, body)
		}
		if got := res.Header.Get(infer.IgnoredHeader); got != want {
			t.Errorf("with %v the header is %q, want %q", more, got, want)
		}
		if got, want := a.Choices[0].Message, whole.Choices[0].Message; got != want {
			t.Errorf("with %v the answer is %+v, want %+v", more, got, want)
		}
	}
}

// checkModels checks the list of models and its entries.
func checkModels(t *testing.T, r *testrun.Run, sys infer.TrainedSystem) {
	url := serve(t, sys, r.Deps.Chat, "")
	for path, want := range map[string]string{
		"/v1/models":       `"object":"list"`,
		"/v1/models/small": `"id":"small"`,
	} {
		if res, got := get(t, url+path); res.StatusCode != http.StatusOK || !strings.Contains(got, want) {
			t.Errorf("%s is answered by %d %s, want 200 with %s", path, res.StatusCode, got, want)
		}
	}
	res, got := get(t, url+"/v1/models/gpt%2F4")
	if res.StatusCode != http.StatusNotFound || !strings.Contains(got, `"code":"model_not_found"`) {
		t.Errorf("another model is answered by %d %s, want 404 with model_not_found", res.StatusCode, got)
	}
}

// checkUsage checks that the usage of all agents adds up.
func checkUsage(t *testing.T, r *testrun.Run, sys infer.TrainedSystem) {
	_, a := postChat(t, serve(t, sys, r.Deps.Chat, ""), goodPrompt, nil)
	prompt, total := 0, 0
	for i, u := range a.Collabui.Agents {
		if u.Agent != i || u.Completion == 0 {
			t.Errorf("usage %d = %+v, want that of agent %d", i, u, i)
		}
		prompt += u.Prompt
		total += u.Total
	}
	if len(a.Collabui.Agents) != 4 || prompt != a.Usage.Prompt || total != a.Usage.Total {
		t.Errorf("the agents' usage %+v does not add up, want %+v", a.Collabui.Agents, a.Usage)
	}
}
