// Package serving puts one server of a language model, vLLM or SGLang, behind the HTTP surface of internal/policyserver: a model's name is the digest of a
// policy (domain.Artifact) in the store, whose adapter is loaded on first use, under a name that is never used for other bytes. It knows internal/store,
// internal/fault and trainer.
package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/policy/serving"
	"github.com/collabui/collabui/internal/store"
)

// Options of a gateway. Keys are secrets: they come from the environment or a file.
type Options struct {
	Bucket    store.Bucket
	Engine    string            // "vllm" or "sglang"
	Server    string            // base URL of the engine, without /v1
	Key       string            // bearer key that the engine wants; empty: none
	ClientKey string            // bearer key that clients must send; empty: none
	Adapters  string            // folder for adapters, of this gateway alone; the engine reads it under the same path
	Base      string            // the engine's name of the base model; empty: the first that it lists without a parent
	Model     *domain.BaseModel // the base model that the engine serves; nil: not checked
	Keep      int               // adapters that are loaded at once, at least 1; not more than the engine holds
	Log       func(format string, args ...any)
}

// Limits of a gateway.
const (
	maxBody    = 32 << 20 // bytes of a request or an answer: there are images
	maxControl = 1 << 20  // bytes of every other request and of the engine's errors
	comeBack   = 5 * time.Second
)

// Gateway is an http.Handler; Run mends beside it. Safe for concurrent use.
type Gateway struct {
	Options
	dialect dialect
	mux     *http.ServeMux
	http    *http.Client

	every    time.Duration // between two looks at the engine
	patience time.Duration // for requests to drain and for room
	loading  time.Duration // of one load, with its download

	turn chan struct{} // held by who sleeps, wakes or mends

	mu       sync.Mutex
	policies map[string]*policy // by digest
	verified map[string]bool    // digests whose folders were found right in this process
	changed  chan struct{}      // closed, and made anew, when something was released
	uses     int64
	out      int // requests and loads under way
	closed   bool
	asleep   bool
	lease    time.Time // the engine may sleep until then
	silent   bool      // the engine did not answer the last look

	requests     map[string]int64 // by path and status
	loads, mends int64
}

// New makes a gateway; it asks neither engine nor store. Impossible options are invalid faults.
func New(o Options) (*Gateway, error) {
	d, ok := dialects[o.Engine]
	if !ok {
		return nil, fault.New(fault.Invalid, "engine %q: expected vllm or sglang", o.Engine)
	}
	u, err := url.Parse(o.Server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fault.New(fault.Invalid, "the engine's address must be an http:// or https:// URL")
	}
	o.Server = strings.TrimSuffix(strings.TrimSuffix(o.Server, "/"), "/v1")
	if o.Keep < 1 {
		return nil, fault.New(fault.Invalid, "%d adapters at once: expected at least 1", o.Keep)
	}
	if o.Adapters, err = filepath.Abs(o.Adapters); err == nil {
		err = os.MkdirAll(o.Adapters, 0o755)
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "the folder for adapters: %w", err)
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	if o.Model == nil {
		o.Log("the base model's identity is not known: policies of another base model are not refused")
	}
	torn, _ := filepath.Glob(filepath.Join(o.Adapters, ".part-*")) // the pattern is right
	for _, dir := range torn {                                     // of a process that was killed
		_ = os.RemoveAll(dir)
	}
	transport := &http.Transport{DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, MaxIdleConns: 512, MaxIdleConnsPerHost: 512, IdleConnTimeout: 30 * time.Second}
	g := &Gateway{Options: o, dialect: d, mux: http.NewServeMux(), every: 3 * time.Second, patience: 30 * time.Second, loading: 10 * time.Minute,
		http: &http.Client{Transport: transport},
		turn: make(chan struct{}, 1), policies: map[string]*policy{}, verified: map[string]bool{}, changed: make(chan struct{}), requests: map[string]int64{}}
	for pattern, h := range map[string]func(http.ResponseWriter, *http.Request) error{
		"POST /v1/chat/completions": g.chat, "GET /v1/models": g.models, "POST /v1/load_lora_adapter": g.load, "POST /v1/unload_lora_adapter": g.unload,
		"GET /health": g.health, "GET /metrics": g.metrics, "POST /sleep": g.sleep, "POST /wake_up": g.wakeUp,
	} {
		g.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := h(w, r); err != nil {
				fail(w, err)
			}
		})
	}
	return g, nil
}

// answer notes the status that was sent.
type answer struct {
	http.ResponseWriter
	status int
}

func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := &answer{ResponseWriter: w, status: http.StatusOK}
	open := r.Method == http.MethodGet && (r.URL.Path == "/health" || r.URL.Path == "/metrics")
	if !open && !serving.Allowed(r, g.ClientKey) {
		fail(a, refuse(http.StatusUnauthorized, "the request needs the header Authorization: Bearer with this gateway's key"))
	} else {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		g.mux.ServeHTTP(a, r)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	path := "other"
	if _, p, ok := strings.Cut(r.Pattern, " "); ok {
		path = p
	}
	g.requests[fmt.Sprintf("path=%q,status=\"%d\"", path, a.status)]++
}

// refusal is an error with the status that says it over HTTP.
type refusal struct {
	status int
	after  time.Duration // 0: none
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func refuse(status int, format string, args ...any) error {
	return &refusal{status: status, err: fmt.Errorf(format, args...)}
}

func later(format string, args ...any) error {
	return &refusal{status: http.StatusServiceUnavailable, after: comeBack, err: fmt.Errorf(format, args...)}
}

// statusOf maps an error to HTTP: what may pass is 503, what does not is 409.
func statusOf(err error) (int, time.Duration) {
	var r *refusal
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &r):
		return r.status, r.after
	case errors.As(err, &big):
		return http.StatusRequestEntityTooLarge, 0
	case errors.Is(err, store.ErrNotFound):
		return http.StatusNotFound, 0
	case fault.KindOf(err) == fault.Corrupt, fault.KindOf(err) == fault.Invalid:
		return http.StatusConflict, 0
	}
	return http.StatusServiceUnavailable, 0
}

func fail(w http.ResponseWriter, err error) {
	status, after := statusOf(err)
	if after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
	reply(w, status, map[string]any{"error": map[string]any{"message": err.Error(), "type": http.StatusText(status), "code": status}})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func decode(r *http.Request, v any) error {
	if err := json.NewDecoder(io.LimitReader(r.Body, maxControl)).Decode(v); err != nil {
		return refuse(http.StatusBadRequest, "the request's JSON: %w", err)
	}
	return nil
}

var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (g *Gateway) models(w http.ResponseWriter, _ *http.Request) error {
	g.mu.Lock()
	var names []string
	for n, p := range g.policies {
		if p.busy == nil {
			names = append(names, n)
		}
	}
	g.mu.Unlock()
	slices.Sort(names)
	data := []map[string]any{}
	for _, n := range names {
		data = append(data, map[string]any{"id": n, "object": "model", "created": 0, "owned_by": "collabui"})
	}
	reply(w, http.StatusOK, map[string]any{"object": "list", "data": data})
	return nil
}

type adapterRequest struct {
	Name string `json:"lora_name"`
}

// load makes a policy ready; loaded already is success.
func (g *Gateway) load(w http.ResponseWriter, r *http.Request) error {
	var q adapterRequest
	if err := decode(r, &q); err != nil {
		return err
	}
	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()
	h, err := g.acquire(r.Context(), q.Name)
	if err != nil {
		return err
	}
	g.release(h)
	_, _ = fmt.Fprintf(w, "Success: LoRA adapter '%s' added successfully.", q.Name)
	return nil
}

func (g *Gateway) unload(w http.ResponseWriter, r *http.Request) error {
	var q adapterRequest
	if err := decode(r, &q); err != nil {
		return err
	}
	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()
	g.mu.Lock()
	p := g.policies[q.Name]
	if p == nil || p.busy != nil {
		g.mu.Unlock()
		return refuse(http.StatusNotFound, "model %q is not loaded", q.Name)
	}
	p.begin()
	g.mu.Unlock()
	if err := g.evict(context.WithoutCancel(r.Context()), p); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(w, "Success: LoRA adapter '%s' removed successfully.", q.Name)
	return nil
}

// health is 200 when the engine is healthy and awake.
func (g *Gateway) health(w http.ResponseWriter, r *http.Request) error {
	g.mu.Lock()
	closed, asleep, lease := g.closed, g.asleep, g.lease
	g.mu.Unlock()
	switch {
	case asleep:
		return later("the engine sleeps; its lease ends %s", lease.UTC().Format(time.RFC3339))
	case closed:
		return later("the engine is being put to sleep")
	}
	if err := g.healthy(r.Context()); err != nil {
		return err
	}
	_, _ = io.WriteString(w, "ok\n")
	return nil
}

func (g *Gateway) metrics(w http.ResponseWriter, _ *http.Request) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var keys []string
	for k := range g.requests {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		_, _ = fmt.Fprintf(w, "collabui_serving_requests_total{%s} %d\n", k, g.requests[k])
	}
	adapters, asleep := 0, 0
	for _, p := range g.policies {
		if p.seated && p.busy == nil {
			adapters++
		}
	}
	if g.asleep {
		asleep = 1
	}
	_, _ = fmt.Fprintf(w, "collabui_serving_outstanding %d\ncollabui_serving_loads_total %d\ncollabui_serving_mends_total %d\ncollabui_serving_adapters %d\ncollabui_serving_asleep %d\n",
		g.out, g.loads, g.mends, adapters, asleep)
	return nil
}
