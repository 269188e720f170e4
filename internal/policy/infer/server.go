package infer

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/policy/serving"
)

// EnvKey is the environment variable of the key that clients must send. With _FILE appended it names a file that holds
// it.
const EnvKey = "COLLABUI_INFER_KEY"

// maxBody bounds a request, in bytes.
const maxBody = 1 << 20

// Server answers POST /v1/chat/completions, GET /v1/models, GET /v1/models/ID and GET /health for one system at a time.
// Safe for concurrent use.
type Server struct {
	current atomic.Pointer[System]
	model   chat.Model
	keys    func() string // of clients; nil or empty means that they need none
	mux     *http.ServeMux
}

// NewServer returns a server of a system whose policies model reaches. If there are keys, one of them must come with
// every request below /v1 (serving.Allowed).
func NewServer(sys System, model chat.Model, keys func() string) *Server {
	s := &Server{model: model, keys: keys, mux: http.NewServeMux()}
	s.Switch(sys)
	s.mux.HandleFunc("POST /v1/chat/completions", s.guarded(s.complete))
	s.mux.HandleFunc("GET /v1/models", s.guarded(s.models))
	s.mux.HandleFunc("GET /v1/models/{id}", s.guarded(s.oneModel))
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
		if serving.Allowed(r, s.keys) {
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

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	var q chatRequest
	a, err := s.answer(r, &q)
	if names := q.ignoredNames(); names != "" {
		w.Header().Set(IgnoredHeader, names)
	}

	switch {
	case err != nil:
		fail(w, err)
	case q.Stream:
		a.stream(w, q.StreamOptions.IncludeUsage)
	default:
		serving.WriteJSON(w, http.StatusOK, a)
	}
}

// answer lets the system decide for a request, which it reads into q.
func (s *Server) answer(r *http.Request, q *chatRequest) (Answer, error) {
	if err := q.read(r.Body); err != nil {
		return Answer{}, err
	}

	sys := *s.current.Load()
	if q.Model != "" && q.Model != sys.Model() {
		return Answer{}, sys.noModel(q.Model)
	}

	v, err := q.view(sys)
	if err != nil {
		return Answer{}, err
	}

	o := q.options()
	d, err := sys.Decide(r.Context(), s.model, v, o)
	if err != nil {
		return Answer{}, err
	}
	if d.Text == "" {
		return Answer{}, sys.undecided(d, o)
	}
	d.Text = q.Stop.cut(d.Text)

	return sys.NewAnswer(d, q.Collabui.Matrix), nil
}

// noModel refuses the name of a model that is not this system.
func (s System) noModel(name string) error {
	return &serving.Refusal{
		Status: http.StatusNotFound,
		Code:   "model_not_found",
		Param:  "model",
		Err:    fmt.Errorf("the model %q does not exist: this server has %q", agents.Line(name, 80), s.Model()),
	}
}

// undecided is the refusal of a request without an answer that holds an action.
func (s System) undecided(d Decided, o Options) error {
	n := len(d.Decision.Cells)
	if o.MaxTokens > 0 && o.MaxTokens < s.Spec.Decoding.MaxTokens {
		return refuse("max_tokens", "max_tokens: none of the agents' %d answers holds an action within %d tokens: "+
			"allow more, or leave it out (the run's bound is %d)", n, o.MaxTokens, s.Spec.Decoding.MaxTokens)
	}

	return &serving.Refusal{
		Status: http.StatusBadGateway,
		Code:   codeNoAction,
		Err: fmt.Errorf("none of the agents' %d answers holds an action, so nothing is decided: "+
			"ask again with another seed", n),
	}
}

// codeNoAction is the code of a request about which nothing is decided.
const codeNoAction = "no_action"

// listed returns the system's entry in the list of models.
func (s System) listed() map[string]any {
	m := serving.Model(s.Model())
	m["run"] = s.Run
	m["epoch"] = s.Epoch
	m["agents"] = len(s.Policies)
	m["policies"] = s.Digests()

	return m
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	serving.WriteModels(w, 0, s.current.Load().listed())
}

func (s *Server) oneModel(w http.ResponseWriter, r *http.Request) {
	sys := s.current.Load()
	if id := r.PathValue("id"); id != sys.Model() {
		fail(w, sys.noModel(id))

		return
	}

	serving.WriteJSON(w, http.StatusOK, sys.listed())
}

func notFound(w http.ResponseWriter, r *http.Request) {
	fail(w, &serving.Refusal{
		Status: http.StatusNotFound,
		Code:   "unknown_url",
		Err: fmt.Errorf("no %s %s: there are POST /v1/chat/completions, GET /v1/models, "+
			"GET /v1/models/ID and GET /health", r.Method, agents.Line(r.URL.Path, 80)),
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
			refused.Status = http.StatusTooManyRequests
			refused.Code = "rate_limit_exceeded"
		case fault.Transient:
			refused.Status = http.StatusServiceUnavailable
			refused.Code = "policies_unavailable"
		case fault.Invalid, fault.Refused:
			refused.Status = http.StatusBadGateway
			refused.Code = "policies_refused"
		}
	}
	if refused.Code == codeNoAction {
		// OpenAI's clients send what failed with 502 again. The answer would be the same.
		w.Header().Set("X-Should-Retry", "false")
	}

	refused.WriteOpenAI(w)
}
