package infer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/method/chat"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/test/kit/testrun"
)

// TestAFinishedRun plays one run and uses what it trained in every way.
func TestAFinishedRun(t *testing.T) {
	r := testrun.New(t, testrun.Tiny())
	if _, err := infer.Find(t.Context(), r.Bucket, "small", ""); !errors.Is(err, infer.ErrNoBase) || fault.KindOf(err) != fault.Invalid {
		t.Errorf("a run without a policy: %v", err)
	}
	end, err := r.Play(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	sys, err := infer.Find(t.Context(), r.Bucket, "small", "")
	if err != nil || sys.Epoch != end.Best || len(sys.Policies) != 4 {
		t.Fatalf("%+v %v", sys.Policies, err)
	}
	t.Run("choice", func(t *testing.T) { choices(t, r, sys) })
	t.Run("http", func(t *testing.T) { decisions(t, r, sys) })
	t.Run("refusals", func(t *testing.T) { refusals(t, r, sys) })
	t.Run("live", func(t *testing.T) { live(t, r) })
	t.Run("unended", func(t *testing.T) {
		r.Bucket.Damage(runs.Run("small").End().Key, nil)
		if s, err := infer.Find(t.Context(), r.Bucket, "small", ""); err != nil || s.Epoch != 1 {
			t.Errorf("the newest epoch: %+v %v", s.Epoch, err)
		}
		if _, err := infer.Find(t.Context(), r.Bucket, "small", infer.Best); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "has not ended") {
			t.Error(err)
		}
	})
}

func choices(t *testing.T, r *testrun.Run, best infer.System) {
	base, _, err := runs.Run("small").Base().Read(t.Context(), r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	for _, which := range []string{infer.Base, "0"} {
		s, err := infer.Find(t.Context(), r.Bucket, "small", which)
		if err != nil || s.Topology != nil || s.Epoch != 0 || s.Digests()[3] != base.Policy.Digest {
			t.Errorf("%s: %+v %v", which, s.Digests(), err)
		}
	}
	e, _, err := runs.Run("small").Epoch(1).Read(t.Context(), r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	s, err := infer.Find(t.Context(), r.Bucket, "small", "1")
	if err != nil || !reflect.DeepEqual(s.Policies, e.System.Policies) || s.Topology == nil || s.Topology.Agents != 4 {
		t.Errorf("%+v %v", s, err)
	}
	if s, err := infer.Find(t.Context(), r.Bucket, "small", infer.Best); err != nil || s.Epoch != best.Epoch {
		t.Error(s.Epoch, err)
	}
	for which, says := range map[string]string{"2": "committed 1 epochs", "-1": "expected a number", "last": "expected a number"} {
		if _, err := infer.Find(t.Context(), r.Bucket, "small", which); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", which, err)
		}
	}
	if _, err := infer.Find(t.Context(), r.Bucket, "other", ""); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	var loaded []string
	if err := s.Load(t.Context(), func(_ context.Context, d string, _ int) error { loaded = append(loaded, d); return nil }); err != nil || len(loaded) == 0 || len(loaded) > 4 {
		t.Error(loaded, err)
	}
}

// screen is what both forms of a request say.
func screen() agents.View {
	var o domain.Observation
	for i, n := range []string{"alpha", "beta two", "gamma"} {
		o.Elements = append(o.Elements, domain.Element{Index: i, Role: "button", Text: n, Visible: true})
	}
	o.Elements = append(o.Elements, domain.Element{Index: 3, Role: "field", Text: "Name", Editable: true, Value: "old text", State: []string{"focused"}, Visible: true},
		domain.Element{Index: 4, Role: "text", Text: strings.Repeat("long words ", 20), Desc: strings.Repeat("more ", 30), Visible: true})
	return agents.View{Goal: "Tap gamma then alpha", History: []string{"1 click button gamma"}, Observation: o}
}

// uncached is a decision without what depends on the server's cache.
func uncached(d domain.Decision) domain.Decision {
	for i := range d.Cells {
		d.Cells[i].Usage.Cached = 0
	}
	return d
}

type answer struct {
	infer.Answer
	Error *struct{ Message, Type, Code string }
}

// ask posts a request; content is the last message's.
func ask(t *testing.T, url string, content any, more map[string]any) (int, answer) {
	t.Helper()
	q := map[string]any{"model": "small", "messages": []any{map[string]any{"role": "system", "content": "ignored"}, map[string]any{"role": "user", "content": content}}}
	for k, v := range more {
		q[k] = v
	}
	body, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	return post(t, url, body, "")
}

func post(t *testing.T, url string, body []byte, key string) (int, answer) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return res.StatusCode, a
}

// stored is the JSON form of a view.
func stored(t *testing.T, v agents.View, observation bool) string {
	t.Helper()
	q := map[string]any{"goal": v.Goal, "history": v.History, "elements": v.Observation.Elements}
	if observation {
		q = map[string]any{"goal": v.Goal, "history": v.History, "observation": v.Observation}
	}
	raw, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func decisions(t *testing.T, r *testrun.Run, sys infer.System) {
	srv := httptest.NewServer(infer.NewServer(sys, r.Deps.Chat, ""))
	defer srv.Close()
	v := screen()
	text, err := agents.Default.User(v, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	decided := 0
	for seed := range uint64(6) {
		conf, err := sys.Config(seed)
		if err != nil {
			t.Fatal(err)
		}
		if want := domain.EvaluationTopologies(4)[seed%4]; !reflect.DeepEqual(conf.Topology, want) || !reflect.DeepEqual(conf.Temperature, r.Spec.EvaluationTemperatures()) || !conf.Early {
			t.Fatalf("seed %d decides on %v at %v, evaluation on %v", seed, conf.Topology, conf.Temperature, want)
		}
		early, err := agents.Decide(t.Context(), r.Deps.Chat, conf, v, seed)
		if err != nil {
			t.Fatal(err)
		}
		conf.Early = false
		direct, err := agents.Decide(t.Context(), r.Deps.Chat, conf, v, seed)
		if err != nil {
			t.Fatal(err)
		}
		status, whole := ask(t, srv.URL, stored(t, v, false), map[string]any{"seed": seed, "collabui": map[string]any{"matrix": true}})
		if direct.AllRound.Votes == 0 {
			if status != 502 || whole.Error.Code != "no_action" {
				t.Errorf("seed %d decides nothing: %d %+v", seed, status, whole.Error)
			}
			continue
		}
		decided++
		if status != 200 || whole.Collabui == nil || !reflect.DeepEqual(uncached(whole.Collabui.Decision), uncached(direct)) {
			t.Fatalf("seed %d: %d, %+v differs from the decision itself: %+v", seed, status, whole.Collabui, direct)
		}
		votes, tokens := 0, 0
		for _, x := range whole.Collabui.Votes {
			votes += x.Votes
		}
		parsed := 0
		for _, c := range direct.Cells {
			tokens += c.Usage.Prompt + c.Usage.Answer
			if c.Action != nil {
				parsed++
			}
		}
		if votes != parsed || whole.Collabui.Votes[0] != direct.AllRound || whole.Usage.Total != tokens || tokens == 0 || !reflect.DeepEqual(whole.Collabui.Policies, sys.Digests()) {
			t.Errorf("seed %d: votes %+v of %d cells, usage %+v of %d tokens", seed, whole.Collabui.Votes, parsed, whole.Usage, tokens)
		}
		c := whole.Choices[0]
		act, err := agents.ParseAnswer(c.Message.Content)
		if err != nil || act.Canonical(v.Observation) != early.AllRound.Canonical || c.FinishReason != "stop" || c.Message.Role != "assistant" || whole.Object != "chat.completion" || whole.Model != "small" {
			t.Errorf("seed %d: %+v %v, the vote is for %s", seed, c, err, early.AllRound.Canonical)
		}
		parts := []any{map[string]any{"type": "text", "text": text}}
		for form, content := range map[string]any{"elements": stored(t, v, false), "observation": stored(t, v, true), "prompt": text, "parts": parts, "lines of Windows": strings.ReplaceAll(text, "\n", "\r\n")} {
			status, got := ask(t, srv.URL, content, map[string]any{"seed": seed})
			if status != 200 || got.Choices[0].Message.Content != c.Message.Content || got.Collabui != nil || got.Usage.Total > whole.Usage.Total {
				t.Errorf("seed %d as %s: %d %+v, want %q", seed, form, status, got, c.Message.Content)
			}
		}
	}
	if decided == 0 {
		t.Error("no seed decides anything")
	}
	cold := map[string]any{"temperature": 0, "collabui": map[string]any{"matrix": true}}
	_, one := ask(t, srv.URL, text, cold)
	cold["seed"] = 4 // the same topology
	_, two := ask(t, srv.URL, text, cold)
	if one.Collabui == nil || two.Collabui == nil || one.Choices[0].Message.Content != two.Choices[0].Message.Content || len(one.Collabui.Decision.Cells) != 8 {
		t.Errorf("greedy agents answer by the seed: %+v %+v", one, two)
	}
	res, err := http.Get(srv.URL + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if !strings.Contains(string(raw), `"id":"small"`) {
		t.Errorf("%s", raw)
	}
}

func refusals(t *testing.T, r *testrun.Run, sys infer.System) {
	srv := httptest.NewServer(infer.NewServer(sys, r.Deps.Chat, ""))
	defer srv.Close()
	good := "Goal: g\nHistory: none\nScreen:\n0 button Send"
	for _, c := range []struct {
		content any
		more    map[string]any
		status  int
		says    string
	}{
		{good, map[string]any{"model": "gpt"}, 404, `the model "gpt" does not exist`},
		{good, map[string]any{"n": 2}, 400, "n: the system decides once"},
		{good, map[string]any{"stream": true}, 400, "streaming is not offered"},
		{good, map[string]any{"tools": []any{}}, 400, `unknown field "tools"`},
		{good, map[string]any{"temperature": -1}, 400, "temperature: expected"},
		{good, map[string]any{"top_p": 1.5}, 400, "top_p: expected"},
		{good, map[string]any{"max_tokens": 0}, 400, "max_tokens: expected"},
		{good, map[string]any{"messages": []any{}}, 400, "none is the user's"},
		{[]any{map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:"}}}, nil, 400, "take no images"},
		{7, nil, 400, "expected a text or a list of parts"},
		{"Click on Send", nil, 400, "Goal: "},
		{"Goal: g\nScreen:\n0 button Send", nil, 400, "second line is neither"},
		{"Goal: g\nHistory:\n1 click", nil, 400, "not followed by a line"},
		{"Goal: g\nHistory: none\n0 button Send", nil, 400, `must follow`},
		{"Goal: g\nHistory: none\nScreen:\nSend", nil, 400, "is not an element"},
		{"Goal: g\nHistory: none\nScreen:\n0 a\n0 b", nil, 400, "two elements have the index 0"},
		{good + "\nYou said: x", nil, 400, "leave out what agents said"},
		{good + "\nAgent 1 said, maybe wrong: x", nil, 400, "leave out what agents said"},
		{`{"goal":"g"}`, nil, 400, `one of "elements" and "observation"`},
		{`{"goal":"g","elements":[],"observation":{}}`, nil, 400, `one of "elements" and "observation"`},
		{`{"goal":" ","elements":[]}`, nil, 400, "the goal is empty"},
		{`{"goal":"g","elements":[{"text":"Send"}]}`, nil, 400, `must have a "role"`},
		{`{"goal":"g","elements":[{"i":1,"role":"a"},{"i":1,"role":"b"}]}`, nil, 400, "of its own"},
		{`{"goal":"g","elements":[],"x":1}`, nil, 400, "unknown field"},
		{`{"goal":"g","elements":[]} more`, nil, 400, "observation"},
	} {
		status, a := ask(t, srv.URL, c.content, c.more)
		if a.Error == nil || status != c.status || !strings.Contains(a.Error.Message, c.says) || a.Error.Type != "invalid_request_error" {
			t.Errorf("%v %v: %d %+v, want %d and %q", c.content, c.more, status, a.Error, c.status, c.says)
			continue
		}
		if text, ok := c.content.(string); ok && text != good && !strings.Contains(a.Error.Message, infer.Forms) {
			t.Errorf("%q: both forms are not shown: %s", text, a.Error.Message)
		}
	}
	if status, a := post(t, srv.URL, bytes.Repeat([]byte(" "), 1<<20+1), ""); status != 413 || a.Error == nil {
		t.Errorf("a large body: %d %+v", status, a.Error)
	}
	if res, err := http.Get(srv.URL + "/v1/chat/completions"); err != nil || res.StatusCode != 404 || res.Header.Get("Content-Type") != "application/json" {
		t.Error(res, err)
	}
	for kind, want := range map[fault.Kind]int{fault.Throttled: 429, fault.Transient: 503, fault.Invalid: 502, fault.Fatal: 500} {
		bad := httptest.NewServer(infer.NewServer(sys, failing{fault.After(kind, 1500*time.Millisecond, "down")}, ""))
		status, a := ask(t, bad.URL, good, nil)
		if status != want || a.Error == nil || !strings.Contains(a.Error.Message, "down") {
			t.Errorf("%s: %d %+v", kind, status, a.Error)
		}
		bad.Close()
	}

	locked := httptest.NewServer(infer.NewServer(sys, r.Deps.Chat, "secret"))
	defer locked.Close()
	body, _ := json.Marshal(map[string]any{"messages": []any{map[string]any{"role": "user", "content": `{"goal":"g","elements":[{"role":"button","text":"g"}]}`}}})
	for key, want := range map[string]int{"": 401, "wrong": 401, "secret": 200} {
		if status, a := post(t, locked.URL, body, key); status != want || want == 401 && (a.Error.Code != "invalid_api_key" || strings.Contains(a.Error.Message, "secret")) {
			t.Errorf("key %q: %d %+v", key, status, a.Error)
		}
	}
	if res, err := http.Get(locked.URL + "/health"); err != nil || res.StatusCode != 200 {
		t.Error(res, err)
	}
}

type failing struct{ err error }

func (f failing) Complete(context.Context, chat.Request) (chat.Response, error) {
	return chat.Response{}, f.err
}
