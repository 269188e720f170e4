// Package tinyserver serves small policies over the OpenAI chat API and vLLM's paths for adapters. The name of a model
// is the digest of its checkpoint, which is loaded from the store on first use.
package tinyserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/store"
)

// maxBody is the maximum size of a request in bytes.
const maxBody = 1 << 20

// Server is an http.Handler. It is safe for concurrent use.
type Server struct {
	CallLog io.Writer     // gets a line for every answered chat; may be nil
	Keys    func() string // bearer keys, one of which clients must send; if nil or empty, clients need no key

	bucket  store.Bucket
	mux     *http.ServeMux
	metrics *httpd.Metrics

	busy                   prometheus.Counter // seconds
	prompt, cached, answer prometheus.Counter // tokens

	mu       sync.Mutex // guards the policies and writes to CallLog
	policies map[string]*entry
}

// New returns a server of the policies in a bucket.
func New(bucket store.Bucket) *Server {
	server := &Server{bucket: bucket, mux: http.NewServeMux(), policies: map[string]*entry{}}
	server.measure()

	server.mux.HandleFunc("POST /v1/chat/completions", server.chat)
	server.mux.HandleFunc("POST /v1"+httpd.ScorePath, server.score)
	server.mux.HandleFunc("GET /v1/models", server.models)
	server.mux.HandleFunc("POST /v1/load_lora_adapter", server.load)
	server.mux.HandleFunc("POST /v1/unload_lora_adapter", server.unload)
	server.mux.HandleFunc("GET /health", httpd.Healthy)
	server.mux.Handle("GET /metrics", server.metrics.Handler())

	return server
}

// measure creates the server's metrics.
func (s *Server) measure() {
	s.metrics = httpd.NewMetrics("collabui_policy")
	s.busy = s.metrics.Counter("busy_seconds_total", "Time spent on answers to chats.")
	s.prompt = s.metrics.Counter("prompt_tokens_total", "Tokens of prompts.")
	s.cached = s.metrics.Counter("cached_tokens_total", "Tokens of prompts that were taken from the prefix cache.")
	s.answer = s.metrics.Counter("generation_tokens_total", "Tokens of answers.")

	s.metrics.Gauge("models", "Policies in memory.", func() float64 {
		s.mu.Lock()
		defer s.mu.Unlock()

		return float64(len(s.policies))
	})
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(httpd.KernelHeader, tinylm.Kernel())
	if strings.HasPrefix(r.URL.Path, "/v1/") && !httpd.Allowed(r, s.Keys) {
		s.fail(w, r, http.StatusUnauthorized,
			errors.New("the request needs the header Authorization: Bearer with this server's key"))

		return
	}

	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	s.mux.ServeHTTP(w, r)
}

// models lists the loaded policies.
func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	var list []map[string]any
	for _, name := range s.loadedDigests() {
		list = append(list, httpd.Model(name))
	}

	httpd.WriteModels(w, 0, list...)
}

func (s *Server) load(w http.ResponseWriter, r *http.Request) {
	name, err := httpd.ReadAdapter(r.Body)
	if err != nil {
		s.fail(w, r, http.StatusBadRequest, err)

		return
	}

	if _, err := s.policy(r.Context(), name); err != nil {
		s.fail(w, r, statusOf(err), err)

		return
	}
	httpd.WriteAdded(w, name)
}

func (s *Server) unload(w http.ResponseWriter, r *http.Request) {
	name, err := httpd.ReadAdapter(r.Body)
	if err != nil {
		s.fail(w, r, http.StatusBadRequest, err)

		return
	}

	if !s.drop(name) {
		s.fail(w, r, http.StatusNotFound, fmt.Errorf("model %q is not loaded", name))

		return
	}
	httpd.WriteRemoved(w, name)
}

// statusOf returns the HTTP status for an error of loading a policy.
func statusOf(err error) int {
	var refused *httpd.Refusal
	switch {
	case errors.As(err, &refused):
		return refused.Status
	case errors.Is(err, tinylm.ErrCheckpoint): // another server may be able to serve it
		return http.StatusConflict
	}

	return http.StatusServiceUnavailable
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, status int, err error) {
	s.metrics.Count(r.URL.Path, status)
	(&httpd.Refusal{Status: status, Err: err}).WriteEngine(w)
}

// recordChat counts an answered chat and, if CallLog is set, logs its start time, its seed and its model.
func (s *Server) recordChat(r *http.Request, start time.Time, request chatRequest, used tinylm.Counts) {
	s.metrics.Count(r.URL.Path, http.StatusOK)
	s.busy.Add(time.Since(start).Seconds())
	s.prompt.Add(float64(used.Prompt))
	s.cached.Add(float64(used.Cached))
	s.answer.Add(float64(used.Answer))

	if s.CallLog == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	_, _ = fmt.Fprintf(s.CallLog, "%d %d %s\n", start.UnixNano(), valueOr(request.Seed, 0), request.Model)
}
