package llm

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/method/chat"

	"github.com/collabui/collabui/fault"
)

const answer = `{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":3}}}`

// server answers with a status and a body, and keeps the last request.
func server(t *testing.T, status int, header map[string]string, body string) (base string, last *http.Request, sent map[string]any) {
	t.Helper()
	last, sent = &http.Request{}, map[string]any{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*last = *r
		raw, _ := io.ReadAll(r.Body)
		clear(sent)
		_ = json.Unmarshal(raw, &sent)
		for k, v := range header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1", last, sent
}

func must(t *testing.T, c Config) *Client {
	t.Helper()
	cl, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return cl
}

func TestTheRequestOnTheWire(t *testing.T) {
	base, last, sent := server(t, 200, nil, answer)
	full := chat.Request{Model: "role", System: "s", User: "u", Images: [][]byte{{1, 2}}, More: []chat.Turn{{Assistant: true, Text: "a"}, {Text: "again"}},
		Schema: &chat.Schema{Name: "grades", JSON: json.RawMessage(`{"type":"object"}`), Strict: true}, TopP: 1, MaxTokens: 7, Seed: 1<<60 + 5}
	c := must(t, Config{BaseURL: base + "/", Model: "m-1", APIKey: "k-1", Headers: map[string]string{"X-Team": "ui"}, Schema: SchemaJSON, Images: true, LogProbs: true, Seeds: true})
	r, err := c.Complete(t.Context(), full)
	if err != nil || r.Texts[0] != "hi" || r.Usage.Prompt != 5 || r.Usage.Cached != 3 || r.Reasoning != nil {
		t.Fatalf("%+v %v", r, err)
	}
	if last.Header.Get("Authorization") != "Bearer k-1" || last.Header.Get("X-Team") != "ui" || last.URL.Path != "/v1/chat/completions" {
		t.Errorf("%v %v", last.Header, last.URL)
	}
	raw, _ := json.Marshal(sent)
	for _, want := range []string{`"model":"m-1"`, `"temperature":1e-45`, `"max_tokens":7`, `"seed":5`, `"logprobs":true`, `"role":"system"`, `"url":"data:image/png;base64,AQI="`,
		`{"content":"a","role":"assistant"},{"content":"again","role":"user"}`, `"response_format":{"json_schema":{"name":"grades","schema":{"type":"object"},"strict":true},"type":"json_schema"}`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s is not in %s", want, raw)
		}
	}
	plain := must(t, Config{BaseURL: base, Schema: SchemaNone})
	if _, err := plain.Complete(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	raw, _ = json.Marshal(sent)
	for _, not := range []string{"response_format", "image_url", "seed", "logprobs"} {
		if strings.Contains(string(raw), not) {
			t.Errorf("%s is in %s", not, raw)
		}
	}
	if !strings.Contains(string(raw), `"model":"role"`) {
		t.Errorf("no model of the request in %s", raw)
	}
}

func TestKindsOfFaults(t *testing.T) {
	for _, x := range []struct {
		status int
		header map[string]string
		body   string
		kind   fault.Kind
		after  time.Duration
	}{
		{429, map[string]string{"Retry-After": "7"}, `{"error":{"message":"slow down"}}`, fault.Throttled, 7 * time.Second},
		{429, map[string]string{"Retry-After-Ms": "250"}, `slow`, fault.Throttled, 250 * time.Millisecond},
		{429, nil, ``, fault.Throttled, 0},
		{503, map[string]string{"Retry-After": "3"}, ``, fault.Throttled, 3 * time.Second},
		{503, nil, ``, fault.Transient, 0}, {500, nil, `oops`, fault.Transient, 0}, {408, nil, ``, fault.Transient, 0},
		{401, nil, `{"error":{"message":"bad key"}}`, fault.Invalid, 0}, {404, nil, ``, fault.Invalid, 0}, {400, nil, `{"error":{"message":"too long"}}`, fault.Invalid, 0},
		{200, nil, `{"choices":[{"mess`, fault.Transient, 0}, {200, nil, `{"choices":[]}`, fault.Transient, 0}, {200, nil, `{"choices":NaN}`, fault.Transient, 0},
	} {
		base, _, _ := server(t, x.status, x.header, x.body)
		_, err := must(t, Config{BaseURL: base, Model: "m"}).Complete(t.Context(), chat.Request{User: "u"})
		if err == nil || fault.KindOf(err) != x.kind || fault.RetryAfter(err) != x.after {
			t.Errorf("%d %q: %v, kind %s, after %v", x.status, x.body, err, fault.KindOf(err), fault.RetryAfter(err))
		}
	}
	base, _, _ := server(t, 404, nil, ``)
	if _, err := must(t, Config{BaseURL: base}).Complete(t.Context(), chat.Request{Model: "m", User: "u"}); fault.KindOf(err) != fault.Transient {
		t.Error("a policy that is not loaded yet:", err)
	}
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); <-r.Context().Done() }))
	defer hang.Close()
	if _, err := must(t, Config{BaseURL: hang.URL, Timeout: 50 * time.Millisecond}).Complete(t.Context(), chat.Request{Model: "m", User: "u"}); fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Error("a hang:", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := must(t, Config{BaseURL: hang.URL}).Complete(ctx, chat.Request{User: "u"}); err != context.Canceled {
		t.Error("a cancelled call:", err)
	}
}

func TestCertificatesAndProxies(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
	defer s.Close()
	q := chat.Request{Model: "m", User: "u"}
	if _, err := must(t, Config{BaseURL: s.URL}).Complete(t.Context(), q); err == nil {
		t.Error("an unknown certificate was taken")
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := must(t, Config{BaseURL: s.URL, CA: file}).Complete(t.Context(), q); err != nil {
		t.Error(err)
	}
	for _, c := range []Config{{CA: "/nowhere.pem"}, {CA: "llm_test.go"}, {Proxy: "http://%zz"}} {
		if _, err := New(c); fault.KindOf(err) != fault.Invalid || err == nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	proxied := ""
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied = r.URL.Host
		_, _ = io.WriteString(w, answer)
	}))
	defer p.Close()
	if _, err := must(t, Config{BaseURL: "http://models.invalid/v1", Proxy: p.URL}).Complete(t.Context(), q); err != nil || proxied != "models.invalid" {
		t.Error(proxied, err)
	}
}

func TestThoughtsArePartedFromAnswers(t *testing.T) {
	for in, want := range map[string][2]string{
		"plain":                          {"", "plain"},
		"<think>a\nb</think>\nAction: x": {"a\nb", "Action: x"},
		"no opening</think> y":           {"no opening", "y"},
		"<think>endless":                 {"endless", ""},
		"<think>a</think>b</think>c":     {"a</think>b", "c"},
		"  <think></think>z":             {"", "z"},
	} {
		if th, an := SplitThinking(in); th != want[0] || an != want[1] {
			t.Errorf("%q: %q, %q", in, th, an)
		}
	}
	base, _, _ := server(t, 200, nil, `{"choices":[{"message":{"content":"A","reasoning_content":"R"}}],"usage":{"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":8}}}`)
	r, err := must(t, Config{BaseURL: base}).Complete(t.Context(), chat.Request{Model: "m", User: "u"})
	if err != nil || r.Texts[0] != "A" || r.Reasoning[0] != "R" || r.Usage.Answer != 9 || r.Usage.Thought != 8 {
		t.Errorf("%+v %v", r, err)
	}
}
