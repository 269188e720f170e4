package infer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/collabui/collabui/internal/method/chat"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/policy/serving"
	"github.com/collabui/collabui/internal/store/runs"
)

// EnvKey is the environment variable (or, with _FILE behind it, the file) of the key that clients must send.
const EnvKey = "COLLABUI_INFER_KEY"

// maxBody bounds a request, in bytes.
const maxBody = 1 << 20

// Server answers POST /v1/chat/completions, GET /v1/models and GET /health for one system. Safe for concurrent use.
type Server struct {
	sys   System
	model chat.Model
	key   string // empty: none is asked for
	mux   *http.ServeMux
}

// NewServer serves a system whose policies chat reaches; key, where it is not empty, must come with every request below /v1.
func NewServer(sys System, model chat.Model, key string) *Server {
	s := &Server{sys: sys, model: model, key: key, mux: http.NewServeMux()}
	s.mux.HandleFunc("POST /v1/chat/completions", s.guarded(s.complete))
	s.mux.HandleFunc("GET /v1/models", s.guarded(s.models))
	s.mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, refusal{status: 404, code: "unknown_url", err: fmt.Errorf("no %s %s: there are POST /v1/chat/completions, GET /v1/models and GET /health", r.Method, r.URL.Path)})
	})
	return s
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	s.mux.ServeHTTP(w, r)
}

// guarded asks for the key.
func (s *Server) guarded(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !serving.Allowed(r, s.key) {
			fail(w, refusal{status: 401, code: "invalid_api_key", err: errors.New("send the key of this server as a bearer token: Authorization: Bearer KEY")})
			return
		}
		f(w, r)
	}
}

// Answer is a decision in the form of the OpenAI chat API.
type Answer struct {
	ID       string   `json:"id"`
	Object   string   `json:"object"`
	Created  int64    `json:"created"` // Unix seconds
	Model    string   `json:"model"`
	Choices  []choice `json:"choices"`
	Usage    usage    `json:"usage"`
	Collabui *Decided `json:"collabui,omitempty"` // where the matrix is asked for
}

type choice struct {
	Index        int    `json:"index"`
	Message      said   `json:"message"`
	FinishReason string `json:"finish_reason"`
}

type said struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type usage struct {
	Prompt        int            `json:"prompt_tokens"`
	Completion    int            `json:"completion_tokens"`
	Total         int            `json:"total_tokens"`
	PromptDetails map[string]int `json:"prompt_tokens_details"`
	AnswerDetails map[string]int `json:"completion_tokens_details"`
}

// NewAnswer puts a decision into that form; it has one choice, the winner's words.
func (s System) NewAnswer(d Decided, matrix bool) Answer {
	a := Answer{ID: "chatcmpl-" + runs.Digest(d.Decision)[:24], Object: "chat.completion", Created: time.Now().Unix(), Model: s.Run,
		Choices: []choice{{Message: said{"assistant", d.Text}, FinishReason: "stop"}},
		Usage: usage{d.Usage.Prompt, d.Usage.Answer, d.Usage.Prompt + d.Usage.Answer, map[string]int{"cached_tokens": d.Usage.Cached},
			map[string]int{"reasoning_tokens": d.Usage.Thought}}}
	if matrix {
		a.Collabui = &d
	}
	return a
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	var q chatRequest
	err := q.read(r.Body)
	if err == nil && q.Model != "" && q.Model != s.sys.Run {
		err = refusal{status: 404, code: "model_not_found", param: "model", err: fmt.Errorf("the model %q does not exist: this server has %q", agents.Line(q.Model, 80), s.sys.Run)}
	}
	var v agents.View
	if err == nil {
		v, err = q.view(s.sys)
	}
	var d Decided
	if err == nil {
		d, err = s.sys.Decide(r.Context(), s.model, v, q.options())
	}
	if err == nil && d.Text == "" {
		err = refusal{status: 502, code: "no_action", err: fmt.Errorf("none of the agents' %d answers holds an action, so nothing is decided: ask again with another seed", len(d.Decision.Cells))}
	}
	if err != nil {
		fail(w, err)
		return
	}
	reply(w, http.StatusOK, s.sys.NewAnswer(d, q.Collabui.Matrix))
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{"object": "list", "data": []map[string]any{{"id": s.sys.Run, "object": "model", "created": 0, "owned_by": "collabui", "epoch": s.sys.Epoch, "agents": len(s.sys.Policies), "policies": s.sys.Digests()}}})
}

// fail answers with an error in OpenAI's form: what the client did wrong, or by its kind what the servers of the policies did.
func fail(w http.ResponseWriter, err error) {
	var no refusal
	if !errors.As(err, &no) {
		no = refusal{status: http.StatusInternalServerError, err: err}
		switch fault.KindOf(err) {
		case fault.Throttled:
			no.status, no.code = http.StatusTooManyRequests, "rate_limit_exceeded"
		case fault.Transient:
			no.status, no.code = http.StatusServiceUnavailable, "policies_unavailable"
		case fault.Invalid:
			no.status, no.code = http.StatusBadGateway, "policies_refused"
		}
		if after := fault.RetryAfter(err); after > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
		}
	}
	kind := "invalid_request_error"
	if no.status >= 500 {
		kind = "server_error"
	}
	orNull := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	reply(w, no.status, map[string]any{"error": map[string]any{"message": no.Error(), "type": kind, "param": orNull(no.param), "code": orNull(no.code)}})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
