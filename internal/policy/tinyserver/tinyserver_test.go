package tinyserver

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/store"
)

const prompt = "Goal: tap Alpha\nHistory: none\nScreen:\n0 button Alpha\n1 button Bravo\n"

func serve(t *testing.T) (*httptest.Server, string, *tinylm.Model) {
	b := &store.Memory{}
	m := tinylm.New(tinylm.DefaultConfig, 7)
	ref, err := store.PutBlob(t.Context(), b, m.Encode())
	if err != nil {
		t.Fatal(err)
	}

	s := httptest.NewServer(New(b))
	t.Cleanup(s.Close)

	return s, ref.SHA256, m
}

func TestThePipelineReachesThePolicyThroughGoOpenAI(t *testing.T) {
	s, name, m := serve(t)
	c := pool(t, s.URL)
	if err := c.Load(t.Context(), name, 0); err != nil {
		t.Fatal(err)
	}

	for _, temp := range []float64{0, 0.7, 2} {
		r := chat.Request{Model: name, System: "x", User: prompt, Temperature: temp, TopP: 0.9, N: 3, Seed: 1<<60 + 5}
		got, err := c.Complete(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}

		want, _ := tinylm.NewPolicy(m).Sample(tinylm.ParsePrompt(prompt), tinylm.Sampling{
			N:           3,
			Temperature: float64(float32(temp)),
			TopP:        float64(float32(0.9)),
			Seed:        (1<<60 + 5) & (1<<53 - 1),
		})

		for i := range want {
			if got.Texts[i] != want[i].Text || math.Abs(got.LogProbs[i]-want[i].LogProb) > 1e-9 {
				t.Fatalf("temperature %v: over HTTP %q %v, want %+v as in the process",
					temp, got.Texts[i], got.LogProbs[i], want[i])
			}
		}

		if got.Usage.Prompt == 0 || got.Usage.Answer == 0 {
			t.Fatalf("usage %+v, want tokens of prompt and answer", got.Usage)
		}
	}

	_, err := c.Complete(t.Context(), chat.Request{Model: strings.Repeat("0", 64), User: prompt})
	if fault.KindOf(err) != fault.Transient {
		t.Fatalf("Complete without the policy = %v, want a transient fault", err)
	}
}

func TestZeroTemperatureIsOnTheWire(t *testing.T) {
	var body map[string]any
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&body)
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer s.Close()
	_, err := pool(t, s.URL).Complete(t.Context(), chat.Request{Model: "m", User: "u"})
	if fault.KindOf(err) != fault.Throttled {
		t.Fatal(err)
	}

	for _, k := range []string{"temperature", "top_p", "seed"} {
		if _, ok := body[k]; !ok {
			t.Errorf("the request is %v, want %s in it", body, k)
		}
	}
}

func TestRequestsAreCheckedAndCounted(t *testing.T) {
	s, name, _ := serve(t)
	post := func(path, body string) (int, string) {
		res, err := http.Post(s.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(b)
	}

	msg := `"messages":[{"role":"user","content":"Goal: x\nScreen:\n0 button A\n"}]`
	for body, want := range map[string]int{
		`{`:                         400,
		`{"model":"` + name + `"}`:  400,
		`{"model":"m",` + msg + `}`: 404,
		`{"model":"` + name + `","n":0,` + msg + `}`:         400,
		`{"model":"` + name + `","top_p":2,` + msg + `}`:     400,
		`{"model":"` + name + `","stop":3,` + msg + `}`:      400,
		`{"model":"` + name + `","stream":true,` + msg + `}`: 400,
		`{"model":"` + name + `",` + msg + `}`:               200,
	} {
		if got, out := post("/v1/chat/completions", body); got != want {
			t.Errorf("%s: %d %s, want %d", body, got, out, want)
		}
	}

	_, stopped := post("/v1/chat/completions", `{"model":"`+name+`","stop":["\nAction"],`+msg+`}`)
	if strings.Contains(stopped, "Action") || !strings.Contains(stopped, "Reason") {
		t.Errorf("the answer is %s, want it cut before the action", stopped)
	}

	var whole, cut struct {
		Choices []struct {
			FinishReason string `json:"finish_reason"`
			Message      struct{ Content string }
			LogProbs     struct{ Content []struct{ Token string } }
		}

		Usage struct {
			Completion int `json:"completion_tokens"`
		}
	}

	for body, to := range map[string]any{
		`"temperature":2,"n":8`:                &whole,
		`"temperature":2,"n":8,"max_tokens":1`: &cut,
	} {
		_, out := post("/v1/chat/completions", `{"model":"`+name+`","seed":3,"logprobs":true,`+body+","+msg+`}`)
		if err := json.Unmarshal([]byte(out), to); err != nil {
			t.Fatal(err)
		}
	}

	for i, c := range cut.Choices {
		w, reason := whole.Choices[i], "stop"
		if len(w.LogProbs.Content) > 1 {
			reason = "length"
		}

		begins := strings.HasPrefix(w.Message.Content, c.Message.Content)
		if len(c.LogProbs.Content) != 1 || c.FinishReason != reason || !begins {
			t.Errorf("max_tokens 1 gives %+v, want the first token of %+v and the reason %s", c, w, reason)
		}
	}

	if cut.Usage.Completion != 8 || whole.Usage.Completion <= 8 {
		t.Errorf("usage %+v cut and %+v whole, want 8 and more than 8 tokens", cut.Usage, whole.Usage)
	}

	get := func(path string) string {
		res, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return string(b)
	}

	if out := get("/v1/models"); !strings.Contains(out, name) {
		t.Errorf("models are %s, want %s in them", out, name)
	}

	want := `collabui_policy_requests_total{path="/v1/chat/completions",status="200"} 4`
	if out := get("/metrics"); !strings.Contains(out, want) {
		t.Errorf("metrics are\n%s\nwant %s in them", out, want)
	}

	if code, _ := post("/v1/unload_lora_adapter", `{"lora_name":"`+name+`"}`); code != 200 {
		t.Errorf("unload = %d, want 200", code)
	}

	if out := get("/v1/models"); strings.Contains(out, name) {
		t.Errorf("models are %s after the unload, want %s not in them", out, name)
	}

	if got := get("/health"); got != "ok\n" {
		t.Errorf("health = %q, want ok", got)
	}
}

func TestAKeyIsAskedForWhereOneIsSet(t *testing.T) {
	b := &store.Memory{}
	srv := New(b)
	srv.Keys = func() string { return "secret" }
	s := httptest.NewServer(srv)
	defer s.Close()
	for header, want := range map[string]int{
		"":              http.StatusUnauthorized,
		"Bearer wrong":  http.StatusUnauthorized,
		"Bearer secret": http.StatusOK,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/models", nil)
		if err != nil {
			t.Fatal(err)
		}

		req.Header.Set("Authorization", header)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}

		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("with %q: %s, want %d", header, res.Status, want)
		}
	}

	if res, err := http.Get(s.URL + "/health"); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("health without a key = %v, %v, want 200", res, err)
	}
}

func pool(t *testing.T, url string) *llm.Pool {
	t.Helper()
	p, err := llm.PolicyServers([]string{url + "/v1"}, llm.Config{})
	if err != nil {
		t.Fatal(err)
	}

	return p
}

// TestAServerWithAnotherKernelIsNotAsked uses a server whose arithmetic differs from the worker's.
func TestAServerWithAnotherKernelIsNotAsked(t *testing.T) {
	s, digest, _ := serve(t)
	for kernel, want := range map[string]fault.Kind{tinylm.Kernel(): "", "another": fault.Transient} {
		p, err := llm.PolicyServers([]string{s.URL + "/v1"}, llm.Config{Kernel: kernel})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Complete(t.Context(), chat.Request{Model: digest, User: prompt, TopP: 1, N: 1})
		if err == nil && want == "" {
			continue
		}
		if fault.KindOf(err) != want || !strings.Contains(err.Error(), "kernel") {
			t.Errorf("with the kernel %q: %v, want the kind %q and a word about the kernel", kernel, err, want)
		}
	}
}
