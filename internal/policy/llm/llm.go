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
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

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

	return &Client{http: hc, conf: c}, nil
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

// Complete asks for r.N answers. Its faults are throttled (with the server's Retry-After), transient, or invalid or
// refused if the server refuses the request.
func (c *Client) Complete(ctx context.Context, r chat.Request) (res chat.Response, err error) {
	ctx, span := tracer.Start(ctx, "model call", trace.WithAttributes(attribute.String("model", r.Model)))
	defer func() {
		if err != nil {
			span.SetStatus(codes.Error, string(fault.KindOf(err))) // its text may quote a prompt
		}
		span.End()
	}()
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, c.conf.Timeout)
	defer cancel()

	q := c.request(r)
	out, err := c.ask(ctx, q)
	if err != nil {
		if parent.Err() != nil {
			return chat.Response{}, context.Cause(parent)
		}

		return chat.Response{}, c.classify(err, q.Model)
	}
	if err := c.check(out, q); err != nil {
		return chat.Response{}, err
	}

	res = response(out)
	res.Usage = c.estimated(res.Usage, r, res)
	span.SetAttributes(attribute.Int("prompt tokens", res.Usage.Prompt))
	span.SetAttributes(attribute.Int("answer tokens", res.Usage.Answer))

	return res, nil
}

var _ chat.Model = (*Client)(nil)
