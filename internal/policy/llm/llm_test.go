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

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
)

const answer = `{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],` +
	`"usage":{"prompt_tokens":5,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":3}}}`

// server answers with a status and a body, and records the last request.
func server(
	t *testing.T, status int, header map[string]string, body string,
) (base string, last *http.Request, sent map[string]any) {
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
	full := chat.Request{
		Model:     "role",
		System:    "s",
		User:      "u",
		Images:    []chat.Image{{PNG: []byte{1, 2}}},
		More:      []chat.Turn{{Assistant: true, Text: "a"}, {Text: "again"}},
		Schema:    &chat.Schema{Name: "grades", JSON: json.RawMessage(`{"type":"object"}`), Strict: true},
		TopP:      1,
		MaxTokens: 7,
		Seed:      1<<60 + 5,
	}

	c := must(t, Config{
		BaseURL:  base + "/",
		Model:    "m-1",
		Key:      func() string { return "k-1" },
		Headers:  map[string]string{"X-Team": "ui"},
		Schema:   SchemaJSON,
		Images:   true,
		LogProbs: true,
		Seeds:    true,
	})

	r, err := c.Complete(t.Context(), full)
	if err != nil || r.Texts[0] != "hi" || r.Usage.Prompt != 5 || r.Usage.Cached != 3 || r.Reasoning != nil {
		t.Fatalf("Complete = %+v, %v, want hi, 5 tokens, 3 of them cached, and no reasoning", r, err)
	}

	if got := last.Header; got.Get("Authorization") != "Bearer k-1" || got.Get("X-Team") != "ui" {
		t.Errorf("headers %v, want the key k-1 and the team ui", got)
	}

	if got, want := last.URL.Path, "/v1/chat/completions"; got != want {
		t.Errorf("path %s, want %s", got, want)
	}

	raw, _ := json.Marshal(sent)
	for _, want := range []string{
		`"model":"m-1"`,
		`"temperature":0`,
		`"max_tokens":7`,
		`"seed":5`,
		`"logprobs":true`,
		`"role":"system"`,
		`"url":"data:image/png;base64,AQI="`,
		`{"content":"a","role":"assistant"},{"content":"again","role":"user"}`,
		`"response_format":{"json_schema":{"name":"grades","schema":{"type":"object"},"strict":true},` +
			`"type":"json_schema"}`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the request is %s, want %s in it", raw, want)
		}
	}

	full.Images = nil
	plain := must(t, Config{BaseURL: base, Schema: SchemaNone})
	if _, err := plain.Complete(t.Context(), full); err != nil {
		t.Fatal(err)
	}

	raw, _ = json.Marshal(sent)
	for _, not := range []string{"response_format", "image_url", "seed", "logprobs"} {
		if strings.Contains(string(raw), not) {
			t.Errorf("the request is %s, want no %s in it", raw, not)
		}
	}

	if !strings.Contains(string(raw), `"model":"role"`) {
		t.Errorf("the request is %s, want its own model", raw)
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
		{429, map[string]string{"Retry-After": "7"}, `{"error":{"message":"slow"}}`, fault.Throttled, 7 * time.Second},
		{429, map[string]string{"Retry-After-Ms": "250"}, `slow`, fault.Throttled, 250 * time.Millisecond},
		{429, nil, ``, fault.Throttled, 0},
		{429, nil, `{"error":{"message":"m","code":"insufficient_quota"}}`, fault.Invalid, 0},
		{503, map[string]string{"Retry-After": "3"}, ``, fault.Throttled, 3 * time.Second},
		{503, nil, ``, fault.Transient, 0},
		{500, nil, `oops`, fault.Transient, 0},
		{408, nil, ``, fault.Transient, 0},
		{401, nil, `{"error":{"message":"bad key"}}`, fault.Invalid, 0},
		{404, nil, ``, fault.Invalid, 0},
		{400, nil, `{"error":{"message":"too long"}}`, fault.Refused, 0},
		{413, nil, ``, fault.Refused, 0},
		{422, nil, `{"error":{"message":"content filter"}}`, fault.Refused, 0},
		{405, nil, ``, fault.Invalid, 0},
		{200, nil, `{"choices":[{"mess`, fault.Transient, 0},
		{200, nil, `{"choices":[]}`, fault.Transient, 0},
		{200, nil, `{"choices":NaN}`, fault.Transient, 0},
	} {
		base, _, _ := server(t, x.status, x.header, x.body)
		_, err := must(t, Config{BaseURL: base, Model: "m"}).Complete(t.Context(), chat.Request{User: "u"})
		if err == nil || fault.KindOf(err) != x.kind || fault.RetryAfter(err) != x.after {
			t.Errorf("%d %q: %v, kind %s, after %v, want kind %s, after %v",
				x.status, x.body, err, fault.KindOf(err), fault.RetryAfter(err), x.kind, x.after)
		}
	}

	base, _, _ := server(t, 404, nil, ``)
	_, err := must(t, Config{BaseURL: base, Model: "m"}).Complete(t.Context(), chat.Request{User: "u"})
	if err == nil || !strings.Contains(err.Error(), "correct base_url") {
		t.Errorf("a path that the server does not have: %v, want what to correct", err)
	}
	q := chat.Request{Model: "m", User: "u"}
	if _, err := must(t, Config{BaseURL: base}).Complete(t.Context(), q); fault.KindOf(err) != fault.Transient {
		t.Errorf("a policy that is not loaded yet: %v, want a transient fault", err)
	}

	hang := httptest.NewServer(http.HandlerFunc(hang))
	defer hang.Close()

	_, err = must(t, Config{BaseURL: hang.URL, Timeout: 50 * time.Millisecond}).Complete(t.Context(), q)
	if fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("a server that hangs: %v, want a transient fault after 50 ms", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := must(t, Config{BaseURL: hang.URL}).Complete(ctx, chat.Request{User: "u"}); err != context.Canceled {
		t.Errorf("a cancelled call: %v, want %v", err, context.Canceled)
	}
}

func TestCertificatesAndProxies(t *testing.T) {
	s := httptest.NewTLSServer(says(200, answer))
	defer s.Close()
	q := chat.Request{Model: "m", User: "u"}
	if _, err := must(t, Config{BaseURL: s.URL}).Complete(t.Context(), q); err == nil {
		t.Error("Complete with an unknown certificate = nil, want an error")
	}

	file := filepath.Join(t.TempDir(), "ca.pem")
	root := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(file, root, 0o600); err != nil {
		t.Fatal(err)
	}

	if _, err := must(t, Config{BaseURL: s.URL, CA: file}).Complete(t.Context(), q); err != nil {
		t.Error(err)
	}

	for _, c := range []Config{{CA: "/nowhere.pem"}, {CA: "llm_test.go"}, {Proxy: "http://%zz"}} {
		if _, err := New(c); fault.KindOf(err) != fault.Invalid || err == nil {
			t.Errorf("New(%+v) = %v, want an invalid fault", c, err)
		}
	}

	proxied := ""
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied = r.URL.Host
		_, _ = io.WriteString(w, answer)
	}))
	defer p.Close()

	c := must(t, Config{BaseURL: "http://models.invalid/v1", Proxy: p.URL})
	if _, err := c.Complete(t.Context(), q); err != nil || proxied != "models.invalid" {
		t.Errorf("the proxy was asked for %q, %v, want models.invalid", proxied, err)
	}
}

// TestAnAnswerThatAServerGaveUpIsAskedForAgain covers servers that, when they stop or fall asleep, answer the requests
// in flight with a success and half of a text, or none.
func TestAnAnswerThatAServerGaveUpIsAskedForAgain(t *testing.T) {
	for reason, want := range map[string]fault.Kind{"abort": fault.Transient, "length": "", "end_turn": ""} {
		base, _, _ := server(t, 200, nil, strings.Replace(answer, "stop", reason, 1))
		c := must(t, Config{BaseURL: base, Model: "m", Timeout: time.Second})
		_, err := c.Complete(t.Context(), chat.Request{User: "u", MaxTokens: 7})
		if got := fault.KindOf(err); err != nil && got != want || err == nil && want != "" {
			t.Errorf("finish_reason %s: %v, want a fault of kind %q", reason, err, want)
		}
	}
}

func TestTheQueryOfABaseURLStays(t *testing.T) {
	for _, x := range []struct{ base, key, path, header, want string }{
		{"/v1", "k-1", "/v1/chat/completions", "Authorization", "Bearer k-1"},
		{
			"/openai/deployments/gpt?api-version=2024-10-21", "k-1",
			"/openai/deployments/gpt/chat/completions?api-version=2024-10-21", "Api-Key", "k-1",
		},
		{
			"/openai/deployments/gpt/?api-version=2024-10-21", "eyJ0.a.b",
			"/openai/deployments/gpt/chat/completions?api-version=2024-10-21", "Authorization", "Bearer eyJ0.a.b",
		},
		{"/v1?team=ui&x=1", "k-1", "/v1/chat/completions?team=ui&x=1", "Authorization", "Bearer k-1"},
	} {
		base, last, _ := server(t, 200, nil, answer)
		base = strings.TrimSuffix(base, "/v1") + x.base
		c := must(t, Config{BaseURL: base, Model: "m", Key: func() string { return x.key }})
		if _, err := c.Complete(t.Context(), chat.Request{User: "u"}); err != nil {
			t.Fatal(err)
		}

		if got := last.URL.RequestURI(); got != x.path {
			t.Errorf("base_url %s: asked %s, want %s", x.base, got, x.path)
		}
		if got := last.Header.Get(x.header); got != x.want {
			t.Errorf("base_url %s: the header %s is %q, want %q", x.base, x.header, got, x.want)
		}
		for _, other := range []string{"Authorization", "Api-Key"} {
			if got := last.Header.Get(other); other != x.header && got != "" {
				t.Errorf("base_url %s: the header %s is %q, want none", x.base, other, got)
			}
		}
	}
}
