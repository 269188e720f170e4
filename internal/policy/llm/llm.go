// Package llm calls language models: chat completion over OpenAI-compatible HTTP. Only this package imports go-openai.
//
// It links no browser driver. It links no Temporal.
package llm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/hosts"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/local/disk"
	"github.com/collabui/collabui/internal/method/chat"
)

// Config describes an endpoint. The key and header values are secrets: they come from the environment or a file, never
// from a specification.
type Config struct {
	BaseURL  string            // up to and including /v1; a query is kept
	Model    string            // the server's name for the model; empty means the request's
	Key      func() string     // returns the bearer token of every request; if nil, no key is sent
	Headers  map[string]string // added to every request
	CA       string            // file with additional root certificates
	Proxy    string            // URL; empty means the environment's
	Named    bool              // the server comes from a specification and must be one that package hosts allows
	Timeout  time.Duration     // limit of one call; 0 means two minutes
	Schema   string            // SchemaJSON, SchemaObject or SchemaNone
	Tokens   string            // TokensMax, which is the default, or TokensCompletion
	Images   bool              // the model accepts images; otherwise requests with images are refused
	LogProbs bool              // the server returns log-probabilities
	Seeds    bool              // the server accepts seeds
	Kernel   string            // the only kernel that a server of the small policy may compute with; empty means any

	// Picture reads the file of an image by its digest. If it is nil, requests must contain the files.
	Picture func(ctx context.Context, digest string) ([]byte, error)
}

// Ways of requesting JSON answers.
const (
	SchemaJSON   = "json_schema" // the server constrains the answer to the schema
	SchemaObject = "json_object" // the server guarantees a JSON object
	SchemaNone   = "none"        // only the prompt requests JSON
)

// Client calls an endpoint. It is safe for concurrent use, and calls may be repeated.
type Client struct {
	http    *http.Client
	conf    Config
	lessons lessons
	pages   pages
	now     func() time.Time
}

// New returns a client without making a request. An unreadable certificate file, an impossible proxy, and a key or a
// header that no request can carry are invalid faults. The last one wraps an error with a method Header, which returns
// the header's name, or "" for the key.
func New(c Config) (*Client, error) {
	if c.Timeout == 0 {
		c.Timeout = 2 * time.Minute
	}

	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")

	carrier := &wire{base: c.BaseURL, key: c.Key, azure: versioned(c.BaseURL), headers: c.Headers, kernel: c.Kernel}
	if _, err := carrier.secret(); err != nil {
		return nil, err
	}

	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialLimit}).DialContext,
		MaxIdleConns:        64,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}

	if c.Proxy != "" {
		address, err := url.Parse(c.Proxy)
		if err != nil {
			return nil, fault.New(fault.Invalid, "proxy of %s: %w", redactURL(c.BaseURL), err)
		}

		transport.Proxy = http.ProxyURL(address)
	}

	if c.CA != "" {
		roots, err := readRoots(c.CA)
		if err != nil {
			return nil, fault.New(fault.Invalid, "certificates for %s: %w", redactURL(c.BaseURL), err)
		}

		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}

	if c.Named {
		hosts.Hold(transport, func() hosts.List { return hosts.Worker() }, dialLimit)
	}

	carrier.next = transport
	client := &Client{conf: c, now: time.Now}
	client.http = &http.Client{Transport: carrier, CheckRedirect: client.redirectFault}

	return client, nil
}

// dialLimit is the maximum time for connecting to a server.
const dialLimit = 5 * time.Second

// maxRoots is the maximum size of a file of certificates in bytes.
const maxRoots = 16 << 20

// readRoots returns the system's root certificates together with the certificates of a PEM file.
func readRoots(file string) (*x509.CertPool, error) {
	pem, err := disk.Read(file, maxRoots)
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

// tracer sends the spans of calls as package telemetry configures. Without a configuration, they cost nothing.
var tracer = otel.Tracer("collabui")

// Complete requests request.N answers, with several requests if the server returns fewer. Its faults are throttled
// (with the server's Retry-After) or transient, and invalid or refused if the server refuses the request. A parameter
// that the server refuses by name is left out of this request and of all later ones, except in requests to policies.
func (c *Client) Complete(ctx context.Context, request chat.Request) (res chat.Response, err error) {
	ctx, span := tracer.Start(ctx, "model call", trace.WithAttributes(attribute.String("model", request.Model)))
	defer func() {
		if err != nil {
			span.SetStatus(codes.Error, string(fault.KindOf(err))) // its text may quote a prompt
		}
		span.End()
	}()

	if request.Images, err = c.withFiles(ctx, request.Images); err != nil {
		return chat.Response{}, err
	}
	model := c.model(request)
	left := c.lessons.of(model)
	var all completion
	var used domain.Usage
	for rest := request; len(all.choices) < max(request.N, 1); rest.Seed++ {
		rest.N = max(request.N, 1) - len(all.choices)
		out, err := c.adapt(ctx, rest, left)
		switch {
		case err == nil:
			err = checkChoices(out, model)
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		default:
			err = c.classify(err, model)
		}
		if err != nil {
			return chat.Response{}, err
		}

		out.choices = out.choices[:min(len(out.choices), rest.N)]
		all.choices = append(all.choices, out.choices...)
		part := c.response(out)
		used = used.Plus(c.estimateUsage(part.Usage, request, part))
	}
	if err := c.checkRefusal(all, model); err != nil {
		return chat.Response{}, err
	}

	res = c.response(all)
	res.Usage = used
	if len(left) > 0 {
		res.LeftOut = left
	}
	span.SetAttributes(attribute.Int("prompt tokens", res.Usage.Prompt))
	span.SetAttributes(attribute.Int("answer tokens", res.Usage.Answer))

	return res, nil
}

// model returns the server's name for the model of a request.
func (c *Client) model(request chat.Request) string {
	if c.conf.Model != "" {
		return c.conf.Model
	}

	return request.Model
}

var _ chat.Model = (*Client)(nil)
