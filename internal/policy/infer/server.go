package infer

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
)

// EnvKey is the environment variable that holds the key that clients must send. With _FILE appended, it names a file
// that contains the key.
const EnvKey = "COLLABUI_INFER_KEY"

// maxBody is the maximum size of a request in bytes.
const maxBody = 16 << 20

// Server serves POST /v1/chat/completions, GET /v1/models, GET /v1/models/ID and GET /health for one system at a time.
// It is safe for concurrent use.
type Server struct {
	current atomic.Pointer[TrainedSystem]
	model   chat.Model
	keys    func() string // keys of clients; if nil or empty, clients need no key
	mux     *http.ServeMux
}

// NewServer returns a server of a system, which calls its policies through model. If there are keys, every request
// below /v1 must carry one of them (httpd.Allowed).
func NewServer(sys TrainedSystem, model chat.Model, keys func() string) *Server {
	server := &Server{model: model, keys: keys, mux: http.NewServeMux()}
	server.Switch(sys)
	server.mux.HandleFunc("POST /v1/chat/completions", server.withKey(server.complete))
	server.mux.HandleFunc("GET /v1/models", server.withKey(server.models))
	server.mux.HandleFunc("GET /v1/models/{id}", server.withKey(server.oneModel))
	server.mux.HandleFunc("GET /health", httpd.Healthy)
	server.mux.HandleFunc("/", notFound)

	return server
}

// Switch replaces the system for all requests that begin afterwards. Requests that have begun are answered by the
// previous system. The policies of sys must already be loaded.
func (s *Server) Switch(sys TrainedSystem) { s.current.Store(&sys) }

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	s.mux.ServeHTTP(w, r)
}

// withKey returns a handler that checks the key first.
func (s *Server) withKey(handlerFunc http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if httpd.Allowed(r, s.keys) {
			handlerFunc(w, r)

			return
		}

		fail(w, &httpd.Refusal{
			Status: http.StatusUnauthorized,
			Code:   "invalid_api_key",
			Err:    errors.New("send the key of this server as a bearer token: Authorization: Bearer KEY"),
		})
	}
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	var request chatRequest
	answer, err := s.answer(r, &request)
	if names := request.ignoredNames(); names != "" {
		w.Header().Set(IgnoredHeader, names)
	}

	switch {
	case err != nil:
		fail(w, err)
	case request.Stream:
		answer.stream(w, request.StreamOptions.IncludeUsage)
	default:
		httpd.WriteJSON(w, http.StatusOK, answer)
	}
}

// answer has the system decide for a request, which it reads into request.
func (s *Server) answer(r *http.Request, request *chatRequest) (Answer, error) {
	if err := request.read(r.Body); err != nil {
		return Answer{}, err
	}

	sys := *s.current.Load()
	if request.Model != "" && request.Model != sys.Model() {
		return Answer{}, sys.unknownModel(request.Model)
	}

	view, err := request.view(sys)
	if err != nil {
		return Answer{}, err
	}

	options := request.options()
	decided, err := sys.Decide(r.Context(), s.model, view, options)
	if err != nil {
		return Answer{}, err
	}
	if decided.Text == "" {
		return Answer{}, sys.undecidedRefusal(decided, options)
	}
	decided.Text = request.Stop.cut(decided.Text)

	return sys.NewAnswer(decided, request.Collabui.Matrix), nil
}

// unknownModel returns the refusal of a model name other than this system's.
func (s TrainedSystem) unknownModel(name string) error {
	return &httpd.Refusal{
		Status: http.StatusNotFound,
		Code:   "model_not_found",
		Param:  "model",
		Err:    fmt.Errorf("the model %q does not exist: this server has %q", agents.Line(name, 80), s.Model()),
	}
}

// undecidedRefusal returns the refusal of a request for which no answer contains an action.
func (s TrainedSystem) undecidedRefusal(decided Decided, options Options) error {
	n := len(decided.Decision.Cells)
	if options.MaxTokens > 0 && options.MaxTokens < s.Spec.Decoding.MaxTokens {
		return refuse("max_tokens", "max_tokens: none of the agents' %d answers holds an action within %d tokens: "+
			"allow more, or leave it out (the run's bound is %d)", n, options.MaxTokens, s.Spec.Decoding.MaxTokens)
	}

	return &httpd.Refusal{
		Status: http.StatusBadGateway,
		Code:   codeNoAction,
		Err: fmt.Errorf("none of the agents' %d answers holds an action, so nothing is decided: "+
			"ask again with another seed", n),
	}
}

// codeNoAction is the error code of a request that led to no decision.
const codeNoAction = "no_action"

// modelEntry returns the system's entry in the list of models.
func (s TrainedSystem) modelEntry() map[string]any {
	fields := httpd.Model(s.Model())
	fields["run"] = s.Run
	fields["epoch"] = s.Epoch
	fields["agents"] = len(s.Policies)
	fields["policies"] = s.Digests()

	return fields
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	httpd.WriteModels(w, 0, s.current.Load().modelEntry())
}

func (s *Server) oneModel(w http.ResponseWriter, r *http.Request) {
	sys := s.current.Load()
	if id := r.PathValue("id"); id != sys.Model() {
		fail(w, sys.unknownModel(id))

		return
	}

	httpd.WriteJSON(w, http.StatusOK, sys.modelEntry())
}

func notFound(w http.ResponseWriter, r *http.Request) {
	fail(w, &httpd.Refusal{
		Status: http.StatusNotFound,
		Code:   "unknown_url",
		Err: fmt.Errorf("no %s %s: there are POST /v1/chat/completions, GET /v1/models, "+
			"GET /v1/models/ID and GET /health", r.Method, agents.Line(r.URL.Path, 80)),
	})
}

// fail writes an error in OpenAI's form: the client's mistake or, depending on the error's kind, the failure of the
// policies' servers.
func fail(w http.ResponseWriter, err error) {
	var refused *httpd.Refusal
	if !errors.As(err, &refused) {
		refused = &httpd.Refusal{Status: http.StatusInternalServerError, After: fault.RetryAfter(err), Err: err}

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
		// OpenAI's clients repeat requests that failed with 502, but the answer would be the same.
		w.Header().Set("X-Should-Retry", "false")
	}

	refused.WriteOpenAI(w)
}
