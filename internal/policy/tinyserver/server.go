// Package policyserver serves small policies behind the OpenAI chat API and vLLM's adapter paths. A model's name is the digest of its checkpoint, which
// is loaded from the store on first use. It knows internal/tinylm and internal/store.
package tinyserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/collabui/collabui/internal/policy/serving"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/store"
)

// maxPolicies are kept in memory; the least recently used goes first.
const maxPolicies = 32

// maxBody bounds a request.
const maxBody = 1 << 20

// Server is an http.Handler.
type Server struct {
	CallLog io.Writer // one line per answered request; nil: none
	Key     string    // that clients must send as a bearer token; empty: none

	bucket store.Bucket
	mux    *http.ServeMux

	mu       sync.Mutex
	policies map[string]*entry
	requests map[string]int64 // by path and status
	busy     time.Duration
	prompt   int64
	cached   int64
	answer   int64
}

type entry struct {
	once sync.Once
	pol  *tinylm.Policy
	err  error
	used time.Time
}

// New serves the policies of a bucket.
func New(b store.Bucket) *Server {
	s := &Server{bucket: b, mux: http.NewServeMux(), policies: map[string]*entry{}, requests: map[string]int64{}}
	s.mux.HandleFunc("POST /v1/chat/completions", s.chat)
	s.mux.HandleFunc("GET /v1/models", s.models)
	s.mux.HandleFunc("POST /v1/load_lora_adapter", s.load)
	s.mux.HandleFunc("POST /v1/unload_lora_adapter", s.unload)
	s.mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	s.mux.HandleFunc("GET /metrics", s.metrics)
	return s
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/v1/") && !serving.Allowed(r, s.Key) {
		s.fail(w, r, http.StatusUnauthorized, errors.New("the request needs the header Authorization: Bearer with this server's key"))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	s.mux.ServeHTTP(w, r)
}

var digest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// policy gives a loaded policy, from the store on first use.
func (s *Server) policy(ctx context.Context, name string) (*tinylm.Policy, error) {
	if !digest.MatchString(name) {
		return nil, fmt.Errorf("model %q: %w: a model name is the 64 hex digits of a checkpoint's SHA-256", name, store.ErrNotFound)
	}
	s.mu.Lock()
	e, ok := s.policies[name]
	if !ok {
		e = &entry{}
		s.policies[name] = e
		s.evict(name)
	}
	e.used = time.Now()
	s.mu.Unlock()
	e.once.Do(func() {
		raw, err := store.GetBlob(context.WithoutCancel(ctx), s.bucket, name)
		var m *tinylm.Model
		if err == nil {
			m, err = tinylm.Decode(raw)
		}
		s.mu.Lock() // models reads entries that are still loading
		defer s.mu.Unlock()
		if e.err = err; err == nil {
			e.pol = tinylm.NewPolicy(m)
		}
	})
	if e.err != nil {
		s.mu.Lock()
		if s.policies[name] == e {
			delete(s.policies, name) // the next request tries again
		}
		s.mu.Unlock()
	}
	return e.pol, e.err
}

// evict drops the least recently used policies. Callers hold mu.
func (s *Server) evict(keep string) {
	for len(s.policies) > maxPolicies {
		oldest := ""
		for k, e := range s.policies {
			if k != keep && (oldest == "" || e.used.Before(s.policies[oldest].used)) {
				oldest = k
			}
		}
		delete(s.policies, oldest)
	}
}

type chatRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	N           *int     `json:"n"`
	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"top_p"`
	Seed        *int64   `json:"seed"`
	MaxTokens   *int     `json:"max_tokens"`
	Stop        any      `json:"stop"`
	LogProbs    bool     `json:"logprobs"`
	Stream      bool     `json:"stream"`
}

// check says what of a request cannot be served.
func (r chatRequest) check() error {
	switch {
	case r.Stream:
		return errors.New("stream: answers are a few tokens; streaming is not offered")
	case r.N != nil && (*r.N < 1 || *r.N > 64):
		return fmt.Errorf("n: %d is outside 1..64", *r.N)
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 100):
		return fmt.Errorf("temperature: %v is outside 0..100", *r.Temperature)
	case r.TopP != nil && (*r.TopP < 0 || *r.TopP > 1):
		return fmt.Errorf("top_p: %v is outside 0..1", *r.TopP)
	case len(r.Messages) == 0 || r.Messages[len(r.Messages)-1].Role != "user":
		return errors.New("messages: the last message must be the user's")
	}
	return nil
}

func or[T any](p *T, d T) T {
	if p == nil {
		return d
	}
	return *p
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	var q chatRequest
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		s.fail(w, r, http.StatusBadRequest, err)
		return
	}
	stops, err := stopList(q.Stop)
	if err = errors.Join(err, q.check()); err != nil {
		s.fail(w, r, http.StatusBadRequest, err)
		return
	}
	pol, err := s.policy(r.Context(), q.Model)
	if err != nil {
		s.fail(w, r, statusOf(err), err)
		return
	}
	// The small policy reads the last user message; system messages only say what its grammar holds already.
	p := tinylm.ParsePrompt(q.Messages[len(q.Messages)-1].Content)
	outs, used := pol.Sample(p, tinylm.Sampling{N: or(q.N, 1), Temperature: or(q.Temperature, 1), TopP: or(q.TopP, 1), Seed: uint64(or(q.Seed, 0))})
	s.count(r, http.StatusOK, time.Since(start), used)
	s.log(start, q)
	reply(w, http.StatusOK, completion(q, outs, used, stops))
}

// log writes one line per answered request, where CallLog is set: when it came, its seed and its model.
func (s *Server) log(start time.Time, q chatRequest) {
	if s.CallLog == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintf(s.CallLog, "%d %d %s\n", start.UnixNano(), or(q.Seed, 0), q.Model)
}

func stopList(v any) ([]string, error) {
	switch x := v.(type) {
	case nil:
		return nil, nil
	case string:
		return []string{x}, nil
	case []any:
		var out []string
		for _, y := range x {
			t, ok := y.(string)
			if !ok {
				return nil, errors.New("stop: must be a string or a list of strings")
			}
			out = append(out, t)
		}
		return out, nil
	}
	return nil, errors.New("stop: must be a string or a list of strings")
}

// completion renders the OpenAI answer. A token is one choice of the grammar; max_tokens and stop cut the text as they do elsewhere.
func completion(q chatRequest, outs []tinylm.Output, used tinylm.Counts, stops []string) map[string]any {
	choices, written := make([]map[string]any, len(outs)), 0
	for i, o := range outs {
		text, reason := o.Text, "stop"
		if n := or(q.MaxTokens, 0); n > 0 && n < len(o.Steps) {
			o.Steps, reason, text = o.Steps[:n], "length", ""
			for _, st := range o.Steps {
				text += st.Text
			}
		}
		written += len(o.Steps)
		for _, st := range stops {
			if at := strings.Index(text, st); st != "" && at >= 0 {
				text = text[:at]
			}
		}
		choices[i] = map[string]any{"index": i, "finish_reason": reason, "message": map[string]any{"role": "assistant", "content": text}}
		if q.LogProbs {
			var content []map[string]any
			for _, st := range o.Steps {
				content = append(content, map[string]any{"token": st.Text, "logprob": st.LogProb, "top_logprobs": []any{}})
			}
			choices[i]["logprobs"] = map[string]any{"content": content}
		}
	}
	return map[string]any{"id": "chatcmpl-collabui", "object": "chat.completion", "created": 0, "model": q.Model, "choices": choices,
		"usage": map[string]any{"prompt_tokens": used.Prompt, "completion_tokens": written, "total_tokens": used.Prompt + written,
			"prompt_tokens_details": map[string]any{"cached_tokens": used.Cached}}}
}

func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	var names []string
	for n, e := range s.policies {
		if e.pol != nil {
			names = append(names, n)
		}
	}
	s.mu.Unlock()
	slices.Sort(names)
	data := []map[string]any{}
	for _, n := range names {
		data = append(data, map[string]any{"id": n, "object": "model", "created": 0, "owned_by": "collabui"})
	}
	reply(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

type adapterRequest struct {
	Name string `json:"lora_name"`
}

func (s *Server) load(w http.ResponseWriter, r *http.Request) {
	var q adapterRequest
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		s.fail(w, r, http.StatusBadRequest, err)
		return
	}
	if _, err := s.policy(r.Context(), q.Name); err != nil {
		s.fail(w, r, statusOf(err), err)
		return
	}
	_, _ = fmt.Fprintf(w, "Success: LoRA adapter '%s' added successfully.", q.Name)
}

func (s *Server) unload(w http.ResponseWriter, r *http.Request) {
	var q adapterRequest
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		s.fail(w, r, http.StatusBadRequest, err)
		return
	}
	s.mu.Lock()
	_, ok := s.policies[q.Name]
	delete(s.policies, q.Name)
	s.mu.Unlock()
	if !ok {
		s.fail(w, r, http.StatusNotFound, fmt.Errorf("model %q is not loaded", q.Name))
		return
	}
	_, _ = fmt.Fprintf(w, "Success: LoRA adapter '%s' removed successfully.", q.Name)
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, tinylm.ErrCheckpoint):
		return http.StatusBadRequest
	}
	return http.StatusServiceUnavailable
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, status int, err error) {
	s.count(r, status, 0, tinylm.Counts{})
	reply(w, status, map[string]any{"error": map[string]any{"message": err.Error(), "type": http.StatusText(status), "code": status}})
}

func (s *Server) count(r *http.Request, status int, d time.Duration, used tinylm.Counts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[fmt.Sprintf("path=%q,status=\"%d\"", r.URL.Path, status)]++
	s.busy += d
	s.prompt, s.cached, s.answer = s.prompt+int64(used.Prompt), s.cached+int64(used.Cached), s.answer+int64(used.Answer)
}

func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for k := range s.requests {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		_, _ = fmt.Fprintf(w, "collabui_policy_requests_total{%s} %d\n", k, s.requests[k])
	}
	_, _ = fmt.Fprintf(w, "collabui_policy_prompt_tokens_total %d\ncollabui_policy_cached_tokens_total %d\ncollabui_policy_generation_tokens_total %d\ncollabui_policy_busy_seconds_total %g\ncollabui_policy_models %d\n",
		s.prompt, s.cached, s.answer, s.busy.Seconds(), len(s.policies))
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
