package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/collabui/collabui/internal/httpd"
)

// Timeouts of requests to the engine.
const (
	queryTime  = 10 * time.Second // requests about the engine itself
	changeTime = 2 * time.Minute  // a load, a probe, falling asleep and waking
)

// maxQuote bounds the part of an engine's answer that a refusal quotes, in bytes.
const maxQuote = 400

// request sends a request to the engine. If the engine does not answer, the error is a 503.
func (g *Gateway) request(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, g.Server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}

	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key := g.Key(); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}

	res, err := g.http.Do(req)
	if err != nil {
		return nil, httpd.Refuse(http.StatusServiceUnavailable, "the engine does not answer: %w", err)
	}

	return res, nil
}

// call sends a request with value as its JSON body, or without a body if value is nil, and reads the answer up to
// maxControl.
func (g *Gateway) call(ctx context.Context, limit time.Duration, method, path string, value any) (reply, error) {
	return g.callUpTo(ctx, maxControl, limit, method, path, value)
}

// callUpTo is like call for an answer of up to size bytes.
func (g *Gateway) callUpTo(
	ctx context.Context, size int64, limit time.Duration, method, path string, value any,
) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	var body []byte
	if value != nil {
		var err error
		if body, err = json.Marshal(value); err != nil {
			return reply{}, err
		}
	}

	res, err := g.request(ctx, method, path, body)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = res.Body.Close() }()

	text, err := io.ReadAll(io.LimitReader(res.Body, size))
	if err != nil {
		return reply{}, brokenAnswer(err)
	}

	return reply{res.StatusCode, string(text)}, nil
}

func brokenAnswer(err error) error {
	return httpd.Refuse(http.StatusServiceUnavailable, "the engine's answer broke off: %w", err)
}

// failure returns the error for an engine's answer that is not a success. A failure that does not pass by itself is a
// 409.
func failure(what string, r reply) error {
	status := http.StatusServiceUnavailable
	if r.refused() && r.status != http.StatusTooManyRequests && !r.unloading() || r.rankTooLarge() {
		status = http.StatusConflict
	}

	switch {
	case r.keyRefused():
		what += " (the engine refuses this gateway's key)"
	case r.rankTooLarge():
		what += " (start the engine with a larger --max-lora-rank)"
	}

	return httpd.Refuse(status, "%s: the engine answered %d: %s", what, r.status, shorten(r.text))
}

// shorten bounds the part of a server's text that is quoted.
func shorten(text string) string {
	text = strings.ToValidUTF8(strings.TrimSpace(text), "?")
	if len(text) > maxQuote {
		return strings.ToValidUTF8(text[:maxQuote], "") + "…"
	}

	return text
}

// healthy returns nil if the engine reports that it is healthy.
func (g *Gateway) healthy(ctx context.Context) error {
	r, err := g.call(ctx, queryTime, http.MethodGet, "/health", nil)
	if err == nil && !r.ok() {
		err = httpd.Refuse(http.StatusServiceUnavailable,
			"the engine is not healthy: it answered %d: %s", r.status, shorten(r.text))
	}

	return err
}

// listing is what an engine reports that it serves.
type listing struct {
	models   []string // its own models, in its order
	adapters []string
	window   int // maximum number of tokens in a prompt and its answer; 0 if the engine does not report it
}

// list returns what the engine serves.
func (g *Gateway) list(ctx context.Context) (out listing, err error) {
	r, err := g.call(ctx, queryTime, http.MethodGet, "/v1/models", nil)
	if err != nil {
		return out, err
	}
	if !r.ok() {
		return out, failure("its models", r)
	}

	var list struct {
		Data []struct {
			ID     string `json:"id"`
			Parent string `json:"parent"`
			Window int    `json:"max_model_len"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(r.text), &list); err != nil {
		return out, httpd.Refuse(http.StatusServiceUnavailable, "the engine's list of models: %w", err)
	}

	for _, m := range list.Data {
		if m.Parent == "" {
			out.models = append(out.models, m.ID)
			out.window = max(out.window, m.Window)
		} else {
			out.adapters = append(out.adapters, m.ID)
		}
	}

	return out, nil
}

// base returns the engine's name for the base model.
func (g *Gateway) base(ctx context.Context) (string, error) {
	if g.Base != "" {
		return g.Base, nil
	}

	has, err := g.list(ctx)
	if err != nil {
		return "", err
	}
	if len(has.models) == 0 {
		return "", httpd.Refuse(http.StatusServiceUnavailable, "the engine lists no base model")
	}

	return has.models[0], nil
}

// engineLoad loads a folder under a name. If the engine already has the name, it returns already, although the name may
// stand for another folder.
func (g *Gateway) engineLoad(ctx context.Context, name, dir string) (already bool, err error) {
	r, err := g.call(ctx, changeTime, http.MethodPost, g.dialect.load,
		map[string]string{"lora_name": name, "lora_path": dir})
	switch {
	case err != nil:
		return false, err
	case r.alreadyLoaded():
		return true, nil
	case r.status == http.StatusNotFound:
		what := fmt.Sprintf("load %s (does the engine see that folder under that path, "+
			"and does it allow loading at run time?)", dir)

		return false, failure(what, r)
	case !r.ok():
		return false, failure("load "+dir, r)
	}
	g.loads.Inc()

	return false, nil
}

// engineUnload unloads a name and reports whether it was loaded. A name that was not loaded is not an error.
func (g *Gateway) engineUnload(ctx context.Context, name string) (wasLoaded bool, err error) {
	r, err := g.call(ctx, changeTime, http.MethodPost, g.dialect.unload, map[string]string{"lora_name": name})
	switch {
	case err != nil:
		return false, err
	case r.ok():
		return true, nil
	case r.status == http.StatusNotFound, r.status == http.StatusBadRequest && g.Engine == sglang:
		return false, nil
	}

	return false, failure("unload "+name, r)
}

// errMissing means that the engine does not have a model, because it has just restarted.
var errMissing = errors.New("the engine does not have it")

// probe requests one token from a model. It returns nil if the model answers, and errMissing if the engine does not
// have it.
func (g *Gateway) probe(ctx context.Context, model string) error {
	r, err := g.call(ctx, changeTime, http.MethodPost, "/v1/chat/completions", map[string]any{
		"model":       model,
		"max_tokens":  1,
		"temperature": 0,
		"messages": []map[string]string{
			{"role": "system", "content": "You are a helpful assistant."},
			{"role": "user", "content": "Hello"},
		},
	})
	switch {
	case err != nil:
		return err
	case r.ok():
		return g.checkTurns(ctx, model)
	case g.dialect.missing(r):
		return httpd.Refuse(http.StatusServiceUnavailable, "probe of %s: %w: %s", model, errMissing, shorten(r.text))
	}

	return failure("probe of "+model, r)
}
