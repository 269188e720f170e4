// Package llm is the one way to language models: chat completion over OpenAI-compatible HTTP. Only this package imports go-openai. It knows the request
// form of internal/system and the kinds of internal/fault.
package llm

import (
	"context"
	"errors"
	"math"
	"net"
	"net/http"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/fault"
	"github.com/collabui/collabui/internal/system"
)

// Config is one endpoint.
type Config struct {
	BaseURL string        // up to and with /v1
	APIKey  string        // from the environment or a file, never from a specification
	Timeout time.Duration // of one call; 0 means two minutes
}

// Client reaches one endpoint. Safe for concurrent use; calls may be repeated.
type Client struct {
	api     *openai.Client
	timeout time.Duration
	http    *http.Client
	base    string
}

// New makes a client; it makes no request.
func New(c Config) *Client {
	if c.Timeout == 0 {
		c.Timeout = 2 * time.Minute
	}
	hc := &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		MaxIdleConns: 64, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
	}}
	cfg := openai.DefaultConfig(c.APIKey)
	cfg.BaseURL, cfg.HTTPClient = strings.TrimSuffix(c.BaseURL, "/"), hc
	return &Client{api: openai.NewClientWithConfig(cfg), timeout: c.Timeout, http: hc, base: cfg.BaseURL}
}

// maxSeed keeps seeds exact in JSON numbers.
const maxSeed = 1<<53 - 1

// Complete asks for r.N answers.
func (c *Client) Complete(ctx context.Context, r system.Request) (system.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	seed := int(r.Seed & maxSeed)
	out, err := c.api.CreateChatCompletion(ctx, openai.ChatCompletionRequest{
		Model: r.Model, N: max(r.N, 1), Temperature: nonzero(r.Temperature), TopP: nonzero(r.TopP), MaxTokens: r.MaxTokens, Seed: &seed, LogProbs: true,
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleSystem, Content: r.System}, {Role: openai.ChatMessageRoleUser, Content: r.User}},
	})
	if err != nil {
		return system.Response{}, classify(err, r.Model)
	}
	if len(out.Choices) != max(r.N, 1) {
		return system.Response{}, fault.New(fault.Transient, "model %s gave %d answers instead of %d", r.Model, len(out.Choices), max(r.N, 1))
	}
	res := system.Response{Usage: domain.Usage{Prompt: out.Usage.PromptTokens, Answer: out.Usage.CompletionTokens}}
	if d := out.Usage.PromptTokensDetails; d != nil {
		res.Usage.Cached = d.CachedTokens
	}
	for _, ch := range out.Choices {
		res.Texts = append(res.Texts, ch.Message.Content)
		if ch.LogProbs != nil {
			sum := 0.0
			for _, t := range ch.LogProbs.Content {
				sum += t.LogProb
			}
			res.LogProbs = append(res.LogProbs, sum)
		}
	}
	return res, nil
}

// nonzero keeps a zero on the wire: go-openai leaves out zero values, and servers then take their own default. The smallest float is greedy everywhere.
func nonzero(x float64) float32 {
	if x == 0 {
		return math.SmallestNonzeroFloat32
	}
	return float32(x)
}

func classify(err error, model string) error {
	var api *openai.APIError
	status := 0
	var req *openai.RequestError
	if errors.As(err, &api) {
		status = api.HTTPStatusCode
	} else if errors.As(err, &req) {
		status = req.HTTPStatusCode
	}
	switch {
	case status == http.StatusTooManyRequests:
		return fault.New(fault.Throttled, "model %s: %w", model, err)
	case status == http.StatusNotFound: // not loaded yet: ensure and try again
		return fault.New(fault.Transient, "model %s is not served: %w", model, err)
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout:
		return fault.New(fault.Invalid, "model %s refused the request: %w", model, err)
	}
	return fault.New(fault.Transient, "model %s: %w", model, err)
}

// Load asks the server to load a policy by the paths of vLLM; loaded already is success.
func (c *Client) Load(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/load_lora_adapter", strings.NewReader(`{"lora_name":"`+name+`","lora_path":"`+name+`"}`))
	if err != nil {
		return fault.As(fault.Fatal, err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return fault.New(fault.Transient, "load policy %s: %w", name, err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fault.New(fault.Transient, "load policy %s: the server answered %s", name, res.Status)
	}
	return nil
}

var _ system.Chat = (*Client)(nil)
