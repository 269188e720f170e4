package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// dialect is where engines differ.
type dialect struct {
	load, unload string // POST with lora_name and lora_path
	sleep, wake  string // POST
	sleeping     string // GET, whether it sleeps; empty: cannot be asked
	hint         string // what sleeping needs
	model        func(base, adapter string) string
	missing      func(status int, text string) bool // a chat's answer says that the model is not there
}

var dialects = map[string]dialect{
	"vllm": {
		load: "/v1/load_lora_adapter", unload: "/v1/unload_lora_adapter", sleep: "/sleep?level=1", wake: "/wake_up", sleeping: "/is_sleeping",
		hint:    "start vLLM with --enable-sleep-mode and VLLM_SERVER_DEV_MODE=1",
		model:   func(_, adapter string) string { return adapter },
		missing: func(status int, _ string) bool { return status == http.StatusNotFound },
	},
	"sglang": {
		load: "/load_lora_adapter", unload: "/unload_lora_adapter", sleep: "/release_memory_occupation", wake: "/resume_memory_occupation",
		hint:  "start SGLang with --enable-memory-saver",
		model: func(base, adapter string) string { return base + ":" + adapter },
		missing: func(status int, text string) bool {
			return status == http.StatusNotFound || status == http.StatusBadRequest && (strings.Contains(text, "never been loaded") || strings.Contains(text, "not loaded"))
		},
	},
}

// Times that the engine has for an answer.
const (
	askTime    = 10 * time.Second // about itself
	changeTime = 2 * time.Minute  // a load, a probe after it, falling asleep, waking
)

// request sends one request to the engine. No answer is a 503.
func (g *Gateway) request(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, g.Server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if g.Key != "" {
		req.Header.Set("Authorization", "Bearer "+g.Key)
	}
	res, err := g.http.Do(req)
	if err != nil {
		return nil, refuse(http.StatusServiceUnavailable, "the engine does not answer: %w", err)
	}
	return res, nil
}

// call is a request with its whole answer.
func (g *Gateway) call(ctx context.Context, limit time.Duration, method, path string, v any) (int, string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var body []byte
	if v != nil {
		var err error
		if body, err = json.Marshal(v); err != nil {
			return 0, "", err
		}
	}
	res, err := g.request(ctx, method, path, body)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxControl))
	if err != nil {
		return 0, "", refuse(http.StatusServiceUnavailable, "the engine's answer broke off: %w", err)
	}
	return res.StatusCode, string(text), nil
}

// unhappy is the error of an engine's answer that is none of success. What does not pass by itself is a conflict.
func unhappy(what string, status int, text string) error {
	out := http.StatusServiceUnavailable
	if status >= 400 && status < 500 && status != http.StatusTooManyRequests || strings.Contains(text, "max_lora_rank") {
		out = http.StatusConflict
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		what += " (the engine refuses this gateway's key)"
	case strings.Contains(text, "max_lora_rank"):
		what += " (start the engine with a larger --max-lora-rank)"
	}
	return refuse(out, "%s: the engine answered %d: %s", what, status, short(text))
}

// short bounds what a server says.
func short(s string) string {
	if s = strings.ToValidUTF8(strings.TrimSpace(s), "?"); len(s) > 400 {
		return strings.ToValidUTF8(s[:400], "") + "…"
	}
	return s
}

// healthy is nil when the engine says so.
func (g *Gateway) healthy(ctx context.Context) error {
	status, text, err := g.call(ctx, askTime, http.MethodGet, "/health", nil)
	if err == nil && status != http.StatusOK {
		err = refuse(http.StatusServiceUnavailable, "the engine is not healthy: it answered %d: %s", status, short(text))
	}
	return err
}

// listed gives the names that the engine serves: models of its own in their order, and adapters.
func (g *Gateway) listed(ctx context.Context) (models, adapters []string, err error) {
	status, text, err := g.call(ctx, askTime, http.MethodGet, "/v1/models", nil)
	if err != nil {
		return nil, nil, err
	}
	if status != http.StatusOK {
		return nil, nil, unhappy("its models", status, text)
	}
	var l struct {
		Data []struct {
			ID     string `json:"id"`
			Parent string `json:"parent"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return nil, nil, refuse(http.StatusServiceUnavailable, "the engine's list of models: %w", err)
	}
	for _, m := range l.Data {
		if m.Parent == "" {
			models = append(models, m.ID)
		} else {
			adapters = append(adapters, m.ID)
		}
	}
	return models, adapters, nil
}

// base is the engine's name of the base model.
func (g *Gateway) base(ctx context.Context) (string, error) {
	if g.Base != "" {
		return g.Base, nil
	}
	models, _, err := g.listed(ctx)
	if err == nil && len(models) == 0 {
		err = refuse(http.StatusServiceUnavailable, "the engine lists no base model")
	}
	if err != nil {
		return "", err
	}
	return models[0], nil
}

// engineLoad loads a folder under a name; there says that the engine has the name already, whatever it loaded under it.
func (g *Gateway) engineLoad(ctx context.Context, name, dir string) (there bool, err error) {
	status, text, err := g.call(ctx, changeTime, http.MethodPost, g.dialect.load, map[string]string{"lora_name": name, "lora_path": dir})
	switch {
	case err != nil:
		return false, err
	case status == http.StatusBadRequest && strings.Contains(text, "already") && strings.Contains(text, "loaded"):
		return true, nil
	case status == http.StatusNotFound:
		return false, unhappy(fmt.Sprintf("load %s (does the engine see that folder under that path, and does it allow loading at run time?)", dir), status, text)
	case status != http.StatusOK:
		return false, unhappy("load "+dir, status, text)
	}
	g.mu.Lock()
	g.loads++
	g.mu.Unlock()
	return false, nil
}

// engineUnload unloads a name; was says that it was there. What is not there is unloaded.
func (g *Gateway) engineUnload(ctx context.Context, name string) (was bool, err error) {
	status, text, err := g.call(ctx, changeTime, http.MethodPost, g.dialect.unload, map[string]string{"lora_name": name})
	switch {
	case err != nil || status == http.StatusOK:
		return err == nil, err
	case status == http.StatusNotFound || status == http.StatusBadRequest && g.Engine == "sglang":
		return false, nil
	}
	return false, unhappy("unload "+name, status, text)
}

// probe asks a model for one token; nil says that it answers.
func (g *Gateway) probe(ctx context.Context, model string) error {
	status, text, err := g.call(ctx, changeTime, http.MethodPost, "/v1/chat/completions", map[string]any{"model": model, "max_tokens": 1, "temperature": 0,
		"messages": []map[string]string{{"role": "system", "content": "You are a helpful assistant."}, {"role": "user", "content": "Hello"}}})
	switch {
	case err != nil || status == http.StatusOK:
		return err
	case g.dialect.missing(status, text): // it restarted this moment
		return refuse(http.StatusServiceUnavailable, "probe of %s: the engine does not have it: %s", model, short(text))
	}
	return unhappy("probe of "+model, status, text)
}
