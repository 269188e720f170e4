// Package llm reaches language models: chat completion over OpenAI-compatible HTTP. Only this package imports
// go-openai.
//
// It imports domain, fault, internal/method/chat, internal/policy/serving and internal/process/failpoint. It links
// no browser driver. It links no Temporal.
package llm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
)

// Config is an endpoint. The key and header values are secrets: they come from the environment or a file, never from a
// specification.
type Config struct {
	BaseURL  string            // up to and including /v1
	Model    string            // the server's name of the model; empty means the request's
	Key      func() string     // returns what is sent as a bearer token, for every request; nil means none
	Headers  map[string]string // added to every request
	CA       string            // a file with further root certificates
	Proxy    string            // URL; empty means the environment's
	Timeout  time.Duration     // limit of one call; 0 means two minutes
	Schema   string            // SchemaJSON, SchemaObject or SchemaNone
	Images   bool              // the model takes images; others are asked without
	LogProbs bool              // the server returns log-probabilities
	Seeds    bool              // the server takes seeds
	Kernel   string            // the only arithmetic that a server of the small policy may have; empty means any
}

// Schema is how JSON answers are asked for.
const (
	SchemaJSON   = "json_schema" // the server holds the answer to the schema
	SchemaObject = "json_object" // the server promises some JSON object
	SchemaNone   = "none"        // only the prompt asks for it
)

// Client reaches an endpoint. Safe for concurrent use; calls may be repeated.
type Client struct {
	api  *openai.Client
	http *http.Client
	conf Config
}

// New returns a client; it makes no request. An unreadable certificate file or an impossible proxy is an invalid fault.
func New(c Config) (*Client, error) {
	if c.Timeout == 0 {
		c.Timeout = 2 * time.Minute
	}

	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")

	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		MaxIdleConns:        64,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}

	if c.Proxy != "" {
		u, err := url.Parse(c.Proxy)
		if err != nil {
			return nil, fault.New(fault.Invalid, "proxy of %s: %w", redacted(c.BaseURL), err)
		}

		t.Proxy = http.ProxyURL(u)
	}

	if c.CA != "" {
		roots, err := readRoots(c.CA)
		if err != nil {
			return nil, fault.New(fault.Invalid, "certificates for %s: %w", redacted(c.BaseURL), err)
		}

		t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}

	hc := &http.Client{
		Transport: &wire{next: t, key: c.Key, headers: c.Headers, kernel: c.Kernel},
		// The headers hold keys of this endpoint, so no redirect is followed.
		CheckRedirect: func(to *http.Request, _ []*http.Request) error {
			return fault.New(fault.Invalid,
				"%s redirects to %s: use that as base_url", redacted(c.BaseURL), to.URL.Host)
		},
	}
	cfg := openai.DefaultConfig("")
	cfg.BaseURL, cfg.HTTPClient = c.BaseURL, hc

	return &Client{api: openai.NewClientWithConfig(cfg), http: hc, conf: c}, nil
}

// readRoots returns the system's root certificates and those of a PEM file.
func readRoots(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}

	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}

	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no PEM certificate", file)
	}

	return pool, nil
}

// redacted returns a base URL without its password, for errors.
func redacted(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.User == nil && strings.Contains(base, "@") {
		return "(an unreadable address)"
	}

	return u.Redacted()
}

// tracer sends the spans of calls where package telemetry says; without it they cost nothing.
var tracer = otel.Tracer("collabui")

// Complete asks for r.N answers. Its faults are throttled (with the server's Retry-After), transient, or invalid if the
// server refuses the request.
func (c *Client) Complete(ctx context.Context, r chat.Request) (res chat.Response, err error) {
	var after time.Duration
	ctx, span := tracer.Start(ctx, "model call", trace.WithAttributes(attribute.String("model", r.Model)))
	defer func() {
		if err != nil {
			span.SetStatus(codes.Error, string(fault.KindOf(err))) // its text may quote a prompt
		}
		span.End()
	}()
	parent := ctx
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, retryKey{}, &after), c.conf.Timeout)
	defer cancel()

	q := c.request(r)
	out, err := c.api.CreateChatCompletion(ctx, q)
	if err != nil {
		if parent.Err() != nil {
			return chat.Response{}, context.Cause(parent)
		}

		return chat.Response{}, c.classify(err, q.Model, after)
	}

	if len(out.Choices) != q.N {
		return chat.Response{}, fault.New(fault.Transient,
			"model %s returned %d answers instead of %d", q.Model, len(out.Choices), q.N)
	}

	for _, ch := range out.Choices {
		if broken[ch.FinishReason] {
			return chat.Response{}, fault.New(fault.Transient, "model %s gave up an answer: finish_reason %q", q.Model,
				ch.FinishReason)
		}
	}

	res = response(out)
	span.SetAttributes(attribute.Int("prompt tokens", res.Usage.Prompt))
	span.SetAttributes(attribute.Int("answer tokens", res.Usage.Answer))

	return res, nil
}

// broken are the reasons for which a server ends an answer that is not whole, with a status of success: vLLM and SGLang
// abort what is in flight when they end or fall asleep.
var broken = map[openai.FinishReason]bool{"abort": true, "error": true, "insufficient_system_resource": true}

// response returns the answers with their reasoning and the tokens used.
func response(out openai.ChatCompletionResponse) chat.Response {
	res := chat.Response{Usage: domain.Usage{Prompt: out.Usage.PromptTokens, Answer: out.Usage.CompletionTokens}}
	if d := out.Usage.PromptTokensDetails; d != nil {
		res.Usage.Cached = d.CachedTokens
	}

	if d := out.Usage.CompletionTokensDetails; d != nil {
		res.Usage.Thought = d.ReasoningTokens
	}

	reasoned := false
	for _, ch := range out.Choices {
		thought, text := SplitThinking(ch.Message.Content)
		if ch.Message.ReasoningContent != "" {
			thought = ch.Message.ReasoningContent
		}

		reasoned = reasoned || thought != ""
		res.Texts, res.Reasoning = append(res.Texts, text), append(res.Reasoning, thought)
		if ch.LogProbs != nil {
			sum := 0.0
			for _, t := range ch.LogProbs.Content {
				sum += t.LogProb
			}
			res.LogProbs = append(res.LogProbs, sum)
		}
	}

	if !reasoned {
		res.Reasoning = nil
	}

	return res
}

// statusOf returns the HTTP status that caused an error of a call; 0 if no answer came.
func statusOf(err error) int {
	var api *openai.APIError
	if errors.As(err, &api) {
		return api.HTTPStatusCode
	}

	var req *openai.RequestError
	if errors.As(err, &req) {
		return req.HTTPStatusCode
	}

	return 0
}

// exhausted reports whether the account of an endpoint has used up what it may. Waiting does not help, as it does with
// other answers of the same status.
func exhausted(err error) bool {
	var api *openai.APIError

	return errors.As(err, &api) && api.HTTPStatusCode == http.StatusTooManyRequests && api.Code == "insufficient_quota"
}

// classify returns the fault of a failed call; after is the server's Retry-After.
func (c *Client) classify(err error, model string, after time.Duration) error {
	switch status := statusOf(err); {
	case fault.KindOf(err) == fault.Invalid: // a redirect
		return fault.New(fault.Invalid, "model %s: %w", model, err)
	case exhausted(err):
		return fault.New(fault.Invalid, "the account at %s has no quota left for model %s: %w (raise it there)",
			redacted(c.conf.BaseURL), model, err)
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable && after > 0:
		return fault.After(fault.Throttled, after, "model %s: %w", model, err)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fault.New(fault.Invalid, "%s refuses the key for model %s: %w "+
			"(check the variable that `key` names, for policies COLLABUI_POLICY_KEY)",
			redacted(c.conf.BaseURL), model, err)
	case status == http.StatusNotFound && c.conf.Model == "": // a policy that is not loaded yet
		return fault.New(fault.Transient, "model %s is not served: %w", model, err)
	case status == http.StatusNotFound:
		return fault.New(fault.Invalid, "%s has no model %s: correct base_url, which usually ends with /v1, "+
			"or model: %w", redacted(c.conf.BaseURL), model, err)
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge,
		status == http.StatusUnprocessableEntity:
		return fault.New(fault.Refused, "model %s refused the request: %w", model, err)
	case status >= 400 && status < 500:
		return fault.New(fault.Invalid, "model %s refused the request: %w", model, err)
	}

	if errors.Is(err, context.DeadlineExceeded) {
		return fault.New(fault.Transient, "model %s gave no answer within %v", model, c.conf.Timeout)
	}

	return fault.New(fault.Transient, "model %s: %w", model, err)
}

var _ chat.Model = (*Client)(nil)
