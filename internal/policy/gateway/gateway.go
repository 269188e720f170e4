// Package gateway implements the HTTP API of tinyserver for one server of a language model, vLLM or SGLang: the name of
// a model is the digest of a policy (domain.Artifact) in the store. The gateway loads the policy's adapter on first
// use, under a name that it never uses for other bytes.
package gateway

import (
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/store"
)

// Options configures a gateway. Keys are secrets: they come from the environment or a file.
type Options struct {
	Bucket    store.Bucket
	Engine    string            // "vllm" or "sglang"
	Server    string            // base URL of the engine, without /v1
	Key       func() string     // current bearer key of the engine; if nil or empty, no key is sent
	ClientKey func() string     // bearer keys, one of which clients must send; if nil or empty, clients need no key
	Adapters  string            // folder for the adapters of only this gateway; the engine reads it under the same path
	Base      string            // the engine's name for the base model; empty means the first one that it lists
	Model     *domain.BaseModel // the base model that the engine serves; if nil, it is not checked
	Keep      int               // adapters loaded at the same time, at least 1 and at most what the engine holds
	Log       func(format string, args ...any)
}

// Limits of a gateway.
const (
	maxBody    = 32 << 20 // bytes of a chat's request or answer, which may contain images
	maxControl = 1 << 20  // bytes of any other request, and of the engine's errors
)

// Gateway is an http.Handler. Run restores what the engine loses. It is safe for concurrent use.
type Gateway struct {
	Options
	dialect dialect
	mux     *http.ServeMux
	http    *http.Client

	every    time.Duration // interval between checks of the engine
	patience time.Duration // limit of the wait for room, and for the turn
	draining time.Duration // limit of the wait for answers before a sleep; longer than any answer takes
	loading  time.Duration // limit of one load with its download

	metrics      *httpd.Metrics
	loads, mends prometheus.Counter

	turn chan struct{} // held while the engine is put to sleep, woken or mended

	mu         sync.Mutex         // guards everything below
	policies   map[string]*policy // by digest
	verified   map[string]bool    // digests whose folders this process has found intact
	changed    chan struct{}      // closed and replaced whenever something is released
	uses       int64
	inFlight   int       // number of requests and loads in flight
	closed     bool      // whether requests are turned away
	asleep     bool      // whether the engine sleeps
	lease      time.Time // time until which the engine may sleep
	unanswered bool      // whether the engine failed to answer the last check

	cannotSleep bool // whether the engine was started without sleep mode, so that it is not queried about it
}

// New returns a gateway. It contacts neither the engine nor the store. Impossible options are invalid faults.
func New(options Options) (*Gateway, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}

	gateway := &Gateway{
		Options:  options,
		dialect:  dialects[options.Engine],
		mux:      http.NewServeMux(),
		http:     &http.Client{Transport: transport()},
		every:    3 * time.Second,
		patience: 30 * time.Second,
		draining: 3 * time.Minute,
		loading:  10 * time.Minute,
		turn:     make(chan struct{}, 1),
		policies: map[string]*policy{},
		verified: map[string]bool{},
		changed:  make(chan struct{}),
	}
	gateway.measure()

	gateway.handle("POST /v1/chat/completions", gateway.chat)
	gateway.handle("POST /v1"+httpd.ScorePath, gateway.score)
	gateway.handle("GET /v1/models", gateway.models)
	gateway.handle("POST /v1/load_lora_adapter", gateway.load)
	gateway.handle("POST /v1/unload_lora_adapter", gateway.unload)
	gateway.handle("GET /health", gateway.health)
	gateway.handle("POST /sleep", gateway.sleep)
	gateway.handle("POST /wake_up", gateway.wakeUp)
	gateway.mux.Handle("GET /metrics", gateway.metrics.Handler())

	return gateway, nil
}

// complete checks the options, fills in defaults and prepares the folder for adapters.
func (o *Options) complete() error {
	if _, ok := dialects[o.Engine]; !ok {
		return fault.New(fault.Invalid, "engine %q: expected vllm or sglang", o.Engine)
	}

	address, err := url.Parse(o.Server)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		return fault.New(fault.Invalid, "the engine's address must be an http:// or https:// URL")
	}

	o.Server = strings.TrimSuffix(strings.TrimSuffix(o.Server, "/"), "/v1")
	if o.Keep < 1 {
		return fault.New(fault.Invalid, "%d adapters at the same time: expected at least 1", o.Keep)
	}

	if o.Adapters, err = filepath.Abs(o.Adapters); err == nil {
		err = os.MkdirAll(o.Adapters, 0o755)
	}
	if err != nil {
		return fault.New(fault.Invalid, "the folder for adapters: %w", err)
	}

	if o.Key == nil {
		o.Key = func() string { return "" }
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	if o.Model == nil {
		o.Log("the base model's identity is not known: policies of another base model are not refused")
	}

	// Remove downloads of a process that was killed. The pattern is valid, so Glob cannot fail.
	partial, _ := filepath.Glob(filepath.Join(o.Adapters, ".part-*"))
	for _, dir := range partial {
		_ = os.RemoveAll(dir)
	}

	return nil
}

func transport() *http.Transport {
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		MaxIdleConns:        512,
		MaxIdleConnsPerHost: 512,
		IdleConnTimeout:     30 * time.Second,
	}
}

// handle registers a handler whose error is answered as a refusal.
func (g *Gateway) handle(pattern string, f func(http.ResponseWriter, *http.Request) error) {
	g.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := f(w, r); err != nil {
			refusal(err).WriteEngine(w)
		}
	})
}

// recorder records the status that was sent.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := &recorder{ResponseWriter: w, status: http.StatusOK}
	open := r.Method == http.MethodGet && (r.URL.Path == "/health" || r.URL.Path == "/metrics")

	if open || httpd.Allowed(r, g.ClientKey) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		g.mux.ServeHTTP(rec, r)
	} else {
		err := httpd.Refuse(http.StatusUnauthorized,
			"the request needs the header Authorization: Bearer with this gateway's key")
		refusal(err).WriteEngine(rec)
	}

	path := "other"
	if _, p, ok := strings.Cut(r.Pattern, " "); ok {
		path = p
	}
	g.metrics.Count(path, rec.status)
}
