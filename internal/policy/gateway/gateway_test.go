package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/fakeengine"
)

var model = domain.BaseModel{Name: "small-7b", Digest: strings.Repeat("ab", 32)}

// stage consists of an engine, a store and a gateway between them.
type stage struct {
	t      testing.TB
	engine *fakeengine.Engine
	bucket *store.Memory
	gate   *Gateway
	url    string // of the gateway
	opts   Options

	mu  sync.Mutex
	log strings.Builder
}

func setUp(t *testing.T, engine *fakeengine.Engine, change func(*Options)) *stage {
	s := &stage{t: t, engine: engine, bucket: &store.Memory{}}
	es := httptest.NewServer(engine)
	t.Cleanup(es.Close)
	s.opts = Options{
		Bucket:   s.bucket,
		Engine:   vllm,
		Server:   es.URL,
		Adapters: t.TempDir(),
		Model:    &model,
		Keep:     4,
		Log: func(f string, a ...any) {
			s.mu.Lock()
			defer s.mu.Unlock()

			_, _ = fmt.Fprintf(&s.log, f+"\n", a...)
		},
	}

	if engine.SGLang {
		s.opts.Engine = sglang
	}

	if change != nil {
		change(&s.opts)
	}

	s.restart()

	return s
}

// restart replaces the gateway by a new one with the same folder.
func (s *stage) restart() {
	g, err := New(s.opts)
	if err != nil {
		s.t.Fatal(err)
	}

	g.every, g.patience, g.draining, g.loading = 20*time.Millisecond, 5*time.Second, 5*time.Second, 10*time.Second
	gs := httptest.NewServer(g)
	s.t.Cleanup(func() { gs.Close(); waitForLoads(g) })
	s.gate, s.url = g, gs.URL
}

// waitForLoads waits until no load is in progress. A load outlasts its request, and writes into the test's folder.
func waitForLoads(g *Gateway) {
	g.mu.Lock()
	defer g.mu.Unlock()

	for g.inFlight > 0 {
		changed := g.changed
		g.mu.Unlock()
		<-changed
		g.mu.Lock()
	}
}

func (s *stage) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

func (s *stage) put(a domain.Artifact) string {
	body, _ := a.Encode()
	ref, err := store.PutBlob(s.t.Context(), s.bucket, body)
	if err != nil {
		s.t.Fatal(err)
	}

	return ref.SHA256
}

// lora stores an adapter whose weights are a text.
func (s *stage) lora(text string) string {
	a := domain.Artifact{Kind: domain.ArtifactLoRA, Base: model, Rank: 8}
	for path, body := range map[string]string{"adapter_config.json": `{"r":8}`, "adapter_model.safetensors": text} {
		ref, err := store.PutBlob(s.t.Context(), s.bucket, []byte(body))
		if err != nil {
			s.t.Fatal(err)
		}

		a.Files = append(a.Files, domain.ArtifactFile{Path: path, Key: ref.Key, SHA256: ref.SHA256, Size: ref.Size})
	}

	return s.put(a)
}

// post sends a request to the gateway and returns status, body and header.
func (s *stage) post(path, body string) (int, string, http.Header) {
	return s.ask(http.MethodPost, path, body, "")
}

func (s *stage) ask(method, path, body, key string) (int, string, http.Header) {
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return 0, "", nil
	}

	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}

	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Error(err)
		return 0, "", nil
	}
	defer func() { _ = res.Body.Close() }()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Error(err)
	}

	return res.StatusCode, string(out), res.Header
}

const hello = `"messages":[{"role":"user","content":"a <b> & c"}]`

// chat sends a chat request to a policy and returns the status and the answer.
func (s *stage) chat(digest string) (int, string) {
	status, body, _ := s.post("/v1/chat/completions", `{"model":"`+digest+`",`+hello+`}`)
	var a struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}

	if json.Unmarshal([]byte(body), &a) != nil || len(a.Choices) != 1 {
		return status, body
	}

	return status, a.Choices[0].Message.Content
}

func (s *stage) says(digest, want string) {
	s.t.Helper()
	if status, got := s.chat(digest); status != http.StatusOK || got != want {
		s.t.Fatalf("policy %s answered %d %q, want %q", digest[:8], status, got, want)
	}
}

// refuses expects a status and parts of the message.
func (s *stage) refuses(digest string, status int, parts ...string) {
	s.t.Helper()
	got, text := s.chat(digest)
	if got != status {
		s.t.Fatalf("status %d %s, want %d", got, text, status)
	}

	for _, p := range parts {
		if !strings.Contains(text, p) {
			s.t.Fatalf("the answer is %q, want %q in it", text, p)
		}
	}
}

// wants expects a status and parts of the body.
func (s *stage) wants(method, path, body string, status int, parts ...string) {
	s.t.Helper()
	got, text, _ := s.ask(method, path, body, "")
	if got != status {
		s.t.Fatalf("%s %s is answered %d %s, want %d", method, path, got, text, status)
	}

	for _, p := range parts {
		if !strings.Contains(text, p) {
			s.t.Fatalf("%s %s is answered %s, want %q in it", method, path, text, p)
		}
	}
}

// until waits until a condition holds.
func (s *stage) until(what string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("still waiting, want that %s; log:\n%s", what, s.said())
		}
	}
}

func both(t *testing.T, test func(t *testing.T, e *fakeengine.Engine)) {
	t.Run("vllm", func(t *testing.T) { test(t, &fakeengine.Engine{}) })
	t.Run("sglang", func(t *testing.T) { test(t, &fakeengine.Engine{SGLang: true}) })
	t.Run("unlisted", func(t *testing.T) { test(t, &fakeengine.Engine{SGLang: true, Unlisted: true}) })
}

func TestPoliciesAnswerThroughTheClientOfThePipeline(t *testing.T) {
	both(t, func(t *testing.T, e *fakeengine.Engine) {
		s := setUp(t, e, nil)
		c, err := llm.PolicyServers([]string{s.url + "/v1"}, llm.Config{})
		if err != nil {
			t.Fatal(err)
		}

		for _, text := range []string{"one", "two"} {
			d := s.lora(text)
			for range 2 { // loading it again succeeds
				if err := c.Load(t.Context(), d, 0); err != nil {
					t.Fatal(err)
				}
			}
			got, err := c.Complete(t.Context(), chat.Request{Model: d, User: "x", N: 1})
			if err != nil || got.Texts[0] != text {
				t.Fatalf("Complete = %v, %v, want %q", got, err, text)
			}
		}

		if n := len(e.Loaded()); n != 2 || e.Calls(s.gate.dialect.load) != 2 {
			t.Fatalf("%d adapters after %d loads, want 2 and 2", n, e.Calls(s.gate.dialect.load))
		}

		_, err = c.Complete(t.Context(), chat.Request{Model: strings.Repeat("0", 64), User: "x"})
		if fault.KindOf(err) != fault.Transient {
			t.Fatalf("Complete without the policy = %v, want a transient fault", err)
		}

		base := s.put(domain.Artifact{Kind: domain.ArtifactBase, Base: model})
		s.says(base, "base")
		_, list, _ := s.ask(http.MethodGet, "/v1/models", "", "")
		if strings.Count(list, `"owned_by"`) != 3 || !strings.Contains(list, base) {
			t.Fatalf("models are %s, want three with %s", list, base)
		}
		if window := fmt.Sprintf(`"max_model_len":%d`, fakeengine.Window); !strings.Contains(list, window) {
			t.Errorf("models are %s, want %s, as the engine says", list, window)
		}

		s.wants(http.MethodGet, "/health", "", http.StatusOK)
	})
}

func TestKeys(t *testing.T) {
	e := &fakeengine.Engine{Key: "engine-key"}
	now := "engine-key"
	s := setUp(t, e, func(o *Options) {
		o.ClientKey, o.Key = func() string { return "client-key" }, func() string { return now }
	})
	d := s.lora("x")
	body := `{"model":"` + d + `",` + hello + `}`
	for key, want := range map[string]int{"": 401, "engine-key": 401, "client-key": 200} {
		status, text, _ := s.ask(http.MethodPost, "/v1/chat/completions", body, key)
		if status != want || strings.Contains(text, "-key") {
			t.Fatalf("with the key %q: %d %s, want %d and no key in the text", key, status, text, want)
		}
	}

	for _, path := range []string{"/sleep", "/wake_up", "/v1/load_lora_adapter", "/v1/unload_lora_adapter"} {
		s.wants(http.MethodPost, path, `{"lease_s":1}`, http.StatusUnauthorized)
	}

	_, text, _ := s.ask(http.MethodGet, "/metrics", "", "")
	for _, want := range []string{
		`collabui_serving_requests_total{path="/v1/chat/completions",status="200"} 1`,
		`status="401"} 6`,
		"collabui_serving_outstanding 0",
		"collabui_serving_loads_total 1",
		"collabui_serving_mends_total 0",
		"collabui_serving_adapters 1",
		"collabui_serving_asleep 0",
	} {
		if !strings.Contains(text, want) {
			t.Fatalf("metrics are\n%s\nwant %q in them", text, want)
		}
	}

	now = "wrong"
	status, text, _ := s.ask(http.MethodPost, "/v1/chat/completions", body, "client-key")
	refused := strings.Contains(text, "refuses this gateway's key") && !strings.Contains(text, "wrong")
	if status != http.StatusConflict || !refused {
		t.Fatalf("with a wrong key of the engine: %d %s, want 409 and that it refuses the key", status, text)
	}
}

func TestImpossibleOptions(t *testing.T) {
	good := Options{Engine: "vllm", Server: "http://127.0.0.1:1", Adapters: t.TempDir(), Keep: 1}
	for name, change := range map[string]func(*Options){
		"engine": func(o *Options) { o.Engine = "tgi" },
		"server": func(o *Options) { o.Server = "127.0.0.1:80" },
		"keep":   func(o *Options) { o.Keep = 0 },
		"folder": func(o *Options) { o.Adapters = "/dev/null/x" },
	} {
		o := good
		change(&o)
		if _, err := New(o); fault.KindOf(err) != fault.Invalid {
			t.Fatalf("New with a wrong %s = %v, want an invalid fault", name, err)
		}
	}

	said := ""
	good.Log = func(f string, a ...any) { said += fmt.Sprintf(f, a...) }
	if _, err := New(good); err != nil || !strings.Contains(said, "not known") {
		t.Fatalf("New = %v and says %q, want that the base model is not known", err, said)
	}
}
