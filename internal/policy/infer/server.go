package infer

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/policy/serving"
	"github.com/collabui/collabui/internal/store/runs"
)

// EnvKey is the environment variable of the key that clients must send. With _FILE appended it names a file that holds
// it.
const EnvKey = "COLLABUI_INFER_KEY"

// maxBody bounds a request, in bytes.
const maxBody = 1 << 20

// Server answers POST /v1/chat/completions, GET /v1/models and GET /health for one system at a time. Safe for
// concurrent use.
type Server struct {
	current atomic.Pointer[System]
	model   chat.Model
	key     string // empty means that clients need none
	mux     *http.ServeMux
}

// NewServer returns a server of a system whose policies model reaches. A key that is not empty must come with every
// request below /v1.
func NewServer(sys System, model chat.Model, key string) *Server {
	s := &Server{model: model, key: key, mux: http.NewServeMux()}
	s.Switch(sys)
	s.mux.HandleFunc("POST /v1/chat/completions", s.guarded(s.complete))
	s.mux.HandleFunc("GET /v1/models", s.guarded(s.models))
	s.mux.HandleFunc("GET /health", serving.Healthy)
	s.mux.HandleFunc("/", notFound)

	return s
}

// Switch lets another system answer from the next request on. Requests that have begun are answered by the system that
// began them. Its policies must be loaded already.
func (s *Server) Switch(sys System) { s.current.Store(&sys) }

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	s.mux.ServeHTTP(w, r)
}

// guarded returns a handler that checks the key first.
func (s *Server) guarded(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if serving.Allowed(r, s.key) {
			f(w, r)

			return
		}

		fail(w, &serving.Refusal{
			Status: http.StatusUnauthorized,
			Code:   "invalid_api_key",
			Err:    errors.New("send the key of this server as a bearer token: Authorization: Bearer KEY"),
		})
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
	Collabui *Decided `json:"collabui,omitempty"` // only if the request asks for the matrix
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

// NewAnswer returns a decision in the form of the OpenAI chat API. Its one choice holds the winner's words.
func (s System) NewAnswer(d Decided, matrix bool) Answer {
	a := Answer{
		ID:      "chatcmpl-" + runs.Digest(d.Decision)[:24],
		Object:  "chat.completion",
		Created: time.Now().Unix(),
		Model:   s.Model(),
		Choices: []choice{{
			Message:      said{Role: "assistant", Content: d.Text},
			FinishReason: "stop",
		}},
		Usage: usage{
			Prompt:        d.Usage.Prompt,
			Completion:    d.Usage.Answer,
			Total:         d.Usage.Prompt + d.Usage.Answer,
			PromptDetails: map[string]int{"cached_tokens": d.Usage.Cached},
			AnswerDetails: map[string]int{"reasoning_tokens": d.Usage.Thought},
		},
	}

	if matrix {
		a.Collabui = &d
	}

	return a
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	a, err := s.answer(r)
	if err != nil {
		fail(w, err)

		return
	}

	serving.WriteJSON(w, http.StatusOK, a)
}

// answer lets the system decide for a request.
func (s *Server) answer(r *http.Request) (Answer, error) {
	var q chatRequest
	if err := q.read(r.Body); err != nil {
		return Answer{}, err
	}

	sys := *s.current.Load()
	if q.Model != "" && q.Model != sys.Model() {
		return Answer{}, &serving.Refusal{
			Status: http.StatusNotFound,
			Code:   "model_not_found",
			Param:  "model",
			Err: fmt.Errorf("the model %q does not exist: this server has %q",
				agents.Line(q.Model, 80), sys.Model()),
		}
	}

	v, err := q.view(sys)
	if err != nil {
		return Answer{}, err
	}

	d, err := sys.Decide(r.Context(), s.model, v, q.options())
	if err != nil {
		return Answer{}, err
	}

	if d.Text == "" {
		return Answer{}, &serving.Refusal{
			Status: http.StatusBadGateway,
			Code:   "no_action",
			Err: fmt.Errorf("none of the agents' %d answers holds an action, so nothing is decided: "+
				"ask again with another seed", len(d.Decision.Cells)),
		}
	}

	return sys.NewAnswer(d, q.Collabui.Matrix), nil
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	sys := *s.current.Load()
	m := serving.Model(sys.Model())
	m["run"] = sys.Run
	m["epoch"] = sys.Epoch
	m["agents"] = len(sys.Policies)
	m["policies"] = sys.Digests()

	serving.WriteModels(w, 0, m)
}

func notFound(w http.ResponseWriter, r *http.Request) {
	fail(w, &serving.Refusal{
		Status: http.StatusNotFound,
		Code:   "unknown_url",
		Err: fmt.Errorf("no %s %s: there are POST /v1/chat/completions, GET /v1/models and GET /health",
			r.Method, r.URL.Path),
	})
}

// fail answers with an error in OpenAI's form: what the client did wrong or, by the error's kind, what the policies'
// servers did.
func fail(w http.ResponseWriter, err error) {
	var refused *serving.Refusal
	if !errors.As(err, &refused) {
		refused = &serving.Refusal{Status: http.StatusInternalServerError, After: fault.RetryAfter(err), Err: err}

		switch fault.KindOf(err) {
		case fault.Throttled:
			refused.Status, refused.Code = http.StatusTooManyRequests, "rate_limit_exceeded"
		case fault.Transient:
			refused.Status, refused.Code = http.StatusServiceUnavailable, "policies_unavailable"
		case fault.Invalid, fault.Refused:
			refused.Status, refused.Code = http.StatusBadGateway, "policies_refused"
		}
	}

	refused.WriteOpenAI(w)
}
