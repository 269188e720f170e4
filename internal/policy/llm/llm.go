// Package llm is the one way to language models: chat completion over OpenAI-compatible HTTP. Only this package imports go-openai. It knows the request
// form of internal/system and the kinds of internal/fault.
package llm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/collabui/collabui/internal/method/chat"

	openai "github.com/sashabaranov/go-openai"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
)

// Config is one endpoint. Key and header values are secrets: they come from the environment or a file, never from a specification.
type Config struct {
	BaseURL  string            // up to and with /v1
	Model    string            // the server's name of the model; empty: the request's
	APIKey   string            // sent as a bearer token
	Headers  map[string]string // added to every request
	CA       string            // file with further root certificates
	Proxy    string            // URL; empty: the environment's
	Timeout  time.Duration     // of one call; 0 means two minutes
	Schema   string            // SchemaJSON, SchemaObject or SchemaNone
	Images   bool              // the model takes images; others are asked without
	LogProbs bool              // the server gives log-probabilities
	Seeds    bool              // the server takes seeds
}

// How JSON answers are asked for.
const (
	SchemaJSON   = "json_schema" // the server holds the answer to the schema
	SchemaObject = "json_object" // the server promises some JSON object
	SchemaNone   = "none"        // only the prompt asks for it
)

// Client reaches one endpoint. Safe for concurrent use; calls may be repeated.
type Client struct {
	api  *openai.Client
	http *http.Client
	conf Config
}

// New makes a client; it makes no request. An unreadable certificate file or an impossible proxy is an invalid fault.
func New(c Config) (*Client, error) {
	if c.Timeout == 0 {
		c.Timeout = 2 * time.Minute
	}
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		MaxIdleConns: 64, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
	}
	if c.Proxy != "" {
		u, err := url.Parse(c.Proxy)
		if err != nil {
			return nil, fault.New(fault.Invalid, "proxy of %s: %w", redacted(c.BaseURL), err)
		}
		t.Proxy = http.ProxyURL(u)
	}
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fault.New(fault.Invalid, "certificates for %s: %w", redacted(c.BaseURL), err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fault.New(fault.Invalid, "certificates for %s: %s holds no PEM certificate", redacted(c.BaseURL), c.CA)
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	hc := &http.Client{Transport: &wire{next: t, headers: c.Headers}}
	cfg := openai.DefaultConfig(c.APIKey)
	cfg.BaseURL, cfg.HTTPClient = c.BaseURL, hc
	return &Client{api: openai.NewClientWithConfig(cfg), http: hc, conf: c}, nil
}

// redacted is a base URL without the password that it may hold, for errors.
func redacted(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.User == nil && strings.Contains(base, "@") {
		return "(an unreadable address)"
	}
	return u.Redacted()
}

// wire adds the endpoint's headers, bounds what a server may send, and notes Retry-After, which go-openai hides.
type wire struct {
	next    http.RoundTripper
	headers map[string]string
}

// Bounds of the bytes of one response: of an answer, and of a refusal, which ends up in errors.
const (
	maxAnswer  = 32 << 20
	maxRefusal = 4 << 10
)

type retryKey struct{}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(w.headers) > 0 {
		r = r.Clone(r.Context())
		for k, v := range w.headers {
			r.Header.Set(k, v)
		}
	}
	res, err := w.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if to, ok := r.Context().Value(retryKey{}).(*time.Duration); ok {
		*to = retryAfter(res.Header, time.Now())
	}
	bound := int64(maxAnswer)
	if res.StatusCode >= 400 {
		bound = maxRefusal
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(res.Body, bound), res.Body}
	return res, nil
}

// retryAfter reads Retry-After in both its forms, and the milliseconds that some servers give; 0 where none is given.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// maxSeed keeps seeds exact in JSON numbers.
const maxSeed = 1<<53 - 1

// Complete asks for r.N answers. Errors are throttled (with the server's Retry-After), transient, or invalid where the server refuses the request.
func (c *Client) Complete(ctx context.Context, r chat.Request) (chat.Response, error) {
	var after time.Duration
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
		return chat.Response{}, fault.New(fault.Transient, "model %s gave %d answers instead of %d", q.Model, len(out.Choices), q.N)
	}
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
	return res, nil
}

func (c *Client) request(r chat.Request) openai.ChatCompletionRequest {
	q := openai.ChatCompletionRequest{Model: c.conf.Model, N: max(r.N, 1), Temperature: nonzero(r.Temperature), TopP: nonzero(r.TopP), MaxTokens: r.MaxTokens, LogProbs: c.conf.LogProbs}
	if q.Model == "" {
		q.Model = r.Model
	}
	if c.conf.Seeds {
		seed := int(r.Seed & maxSeed)
		q.Seed = &seed
	}
	if r.System != "" {
		q.Messages = append(q.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: r.System})
	}
	user := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: r.User}
	if c.conf.Images && len(r.Images) > 0 {
		user.MultiContent, user.Content = []openai.ChatMessagePart{{Type: openai.ChatMessagePartTypeText, Text: r.User}}, ""
		for _, png := range r.Images {
			user.MultiContent = append(user.MultiContent, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: "data:image/png;base64," + base64.StdEncoding.EncodeToString(png)}})
		}
	}
	q.Messages = append(q.Messages, user)
	for _, t := range r.More {
		role := openai.ChatMessageRoleUser
		if t.Assistant {
			role = openai.ChatMessageRoleAssistant
		}
		q.Messages = append(q.Messages, openai.ChatCompletionMessage{Role: role, Content: t.Text})
	}
	if r.Schema != nil {
		switch c.conf.Schema {
		case SchemaJSON:
			q.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
				JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: r.Schema.Name, Schema: r.Schema.JSON, Strict: r.Schema.Strict}}
		case SchemaObject:
			q.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
		}
	}
	return q
}

// SplitThinking parts what a reasoning model wrote before its answer: all up to the last </think>. Without an end of the thought there is no answer yet.
func SplitThinking(s string) (thought, answer string) {
	const open, end = "<think>", "</think>"
	if at := strings.LastIndex(s, end); at >= 0 {
		return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s[:at]), open)), strings.TrimSpace(s[at+len(end):])
	}
	if rest, ok := strings.CutPrefix(strings.TrimSpace(s), open); ok {
		return strings.TrimSpace(rest), ""
	}
	return "", s
}

// nonzero keeps a zero on the wire: go-openai leaves out zero values, and servers then take their own default. The smallest float is greedy everywhere.
func nonzero(x float64) float32 {
	if x == 0 {
		return math.SmallestNonzeroFloat32
	}
	return float32(x)
}

// statusOf is the HTTP status behind an error of a call; 0 where no answer came.
func statusOf(err error) int {
	var api *openai.APIError
	var req *openai.RequestError
	if errors.As(err, &api) {
		return api.HTTPStatusCode
	} else if errors.As(err, &req) {
		return req.HTTPStatusCode
	}
	return 0
}

func (c *Client) classify(err error, model string, after time.Duration) error {
	switch status := statusOf(err); {
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable && after > 0:
		return fault.After(fault.Throttled, after, "model %s: %w", model, err)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fault.New(fault.Invalid, "%s refuses the key for model %s: %w (check the variable that `key` names, for policies COLLABUI_POLICY_KEY)", redacted(c.conf.BaseURL), model, err)
	case status == http.StatusNotFound && c.conf.Model == "": // a policy that is not loaded yet: ensure and try again
		return fault.New(fault.Transient, "model %s is not served: %w", model, err)
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
	case status >= 400 && status < 500:
		return fault.New(fault.Invalid, "model %s refused the request: %w", model, err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.New(fault.Transient, "model %s gave no answer within %v", model, c.conf.Timeout)
	}
	return fault.New(fault.Transient, "model %s: %w", model, err)
}

var _ chat.Model = (*Client)(nil)
