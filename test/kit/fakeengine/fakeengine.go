// Package fakeengine behaves like the part of vLLM's HTTP surface, or of SGLang's, that the gateway uses, and
// misbehaves on request. It shares no code with the gateway on purpose. Only tests import it.
package fakeengine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Answer returns a model's answer to a chat request. dir is the adapter's folder, empty for the engine's own model.
type Answer func(dir string, body []byte) (status int, response []byte)

// Echo answers with the bytes of adapter_model.safetensors, or with "base".
func Echo(dir string, _ []byte) (int, []byte) {
	text := "base"
	if dir != "" {
		raw, err := os.ReadFile(filepath.Join(dir, "adapter_model.safetensors"))
		if err != nil {
			return fail(http.StatusInternalServerError, "InternalServerError", err.Error())
		}
		text = string(raw)
	}

	return http.StatusOK, encode(map[string]any{
		"object": "chat.completion",
		"choices": []any{map[string]any{
			"index":         0,
			"finish_reason": "stop",
			"message":       map[string]any{"role": "assistant", "content": text},
		}},
		"usage": map[string]any{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
	})
}

// encode returns plain values, which can always be encoded, as JSON.
func encode(value any) []byte {
	out, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}

	return out
}

// Window is the largest number of tokens in a prompt and its answer together, as an engine lists it.
const Window = 4096

// Engine is an http.Handler. Set its fields before it serves. Its methods may be called at any time.
type Engine struct {
	SGLang   bool
	Models   []string // served names of the model; nil means "base"
	Key      string   // required bearer key; if empty, no key is required
	Limit    int      // adapters at the same time; 0 means any number
	NoSleep  bool     // started without the option that sleeping needs
	NoBackup bool     // an SGLang whose weights are undefined after a sleep
	Unlisted bool     // /v1/models leaves out adapters, as in older SGLang
	Answer   Answer   // nil means Echo
	LogProb  LogProb  // if nil, the engine cannot score answers, and shows no tokens

	PlainTurns bool // the chat template marks turns with ordinary words

	mu       sync.Mutex
	adapters map[string]string // folder by name
	asleep   bool
	down     bool
	slow     time.Duration
	broken   []failure // failures of the next loads
	mute     []failure // failures of the next chats
	calls    map[string]int
	bodies   [][]byte
}

// failure is a response that a test has ordered.
type failure struct {
	status int
	text   string
}

func (e *Engine) models() []string {
	if len(e.Models) == 0 {
		return []string{"base"}
	}

	return e.Models
}

// fail returns an error in the form that both engines use for chats.
func fail(status int, kind, text string) (int, []byte) {
	return status, encode(map[string]any{"error": map[string]any{
		"message": text,
		"type":    kind,
		"param":   nil,
		"code":    status,
	}})
}

func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}

	e.mu.Lock()
	if e.calls == nil {
		e.calls = map[string]int{}
	}

	e.calls[r.URL.Path]++
	down := e.down
	e.mu.Unlock()

	if down {
		panic(http.ErrAbortHandler)
	}

	status, answer := e.route(r, body)
	if json.Valid(answer) {
		w.Header().Set("Content-Type", "application/json")
	}

	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

func (e *Engine) route(r *http.Request, body []byte) (int, []byte) {
	path := r.URL.Path
	lora := "/v1"
	sleep := "/sleep"
	wake := "/wake_up"
	if e.SGLang {
		lora = ""
		sleep = "/release_memory_occupation"
		wake = "/resume_memory_occupation"
	}

	if e.Key != "" && r.Header.Get("Authorization") != "Bearer "+e.Key && path != "/health" {
		return http.StatusUnauthorized, []byte(`{"error":"Unauthorized"}`)
	}

	if path == "/v1/chat/completions" && r.Method == http.MethodPost {
		return e.chat(body)
	}
	if status, answer, ok := e.scoring(r.Method+" "+path, body); ok {
		return status, answer
	}

	e.mu.Lock()
	defer e.mu.Unlock()

	switch r.Method + " " + path {
	case "GET /health":
		return http.StatusOK, nil
	case "GET /v1/models":
		return e.list()
	case "POST " + lora + "/load_lora_adapter":
		return e.load(body)
	case "POST " + lora + "/unload_lora_adapter":
		return e.unload(body)
	}

	if e.NoSleep {
		return http.StatusNotFound, []byte(`{"detail":"Not Found"}`)
	}

	switch r.Method + " " + path {
	case "POST " + sleep:
		if !e.SGLang && r.URL.Query().Get("level") != "1" {
			return http.StatusInternalServerError, []byte("Internal Server Error")
		}
		e.asleep = true

		return http.StatusOK, nil
	case "POST " + wake:
		e.asleep = false

		return http.StatusOK, nil
	case "GET /server_info":
		if e.SGLang {
			return http.StatusOK, fmt.Appendf(nil, `{"enable_weights_cpu_backup":%v}`, !e.NoBackup)
		}
	case "GET /is_sleeping":
		if !e.SGLang && !e.NoSleep {
			return http.StatusOK, fmt.Appendf(nil, `{"is_sleeping":%v}`, e.asleep)
		}
	}

	return http.StatusNotFound, []byte(`{"detail":"Not Found"}`)
}

func (e *Engine) list() (int, []byte) {
	var data []map[string]any
	for _, m := range e.models() {
		data = append(data, map[string]any{
			"id":            m,
			"object":        "model",
			"root":          "/models/" + m,
			"parent":        nil,
			"max_model_len": Window,
		})
	}

	for _, name := range slices.Sorted(maps.Keys(e.adapters)) {
		if !e.Unlisted {
			data = append(data, map[string]any{
				"id":     name,
				"object": "model",
				"root":   e.adapters[name],
				"parent": e.models()[0],
			})
		}
	}

	return http.StatusOK, encode(map[string]any{"object": "list", "data": data})
}

func (e *Engine) chat(body []byte) (int, []byte) {
	var q struct {
		Model     string `json:"model"`
		MaxTokens int    `json:"max_tokens"`
	}

	if err := json.Unmarshal(body, &q); err != nil {
		return fail(http.StatusBadRequest, "BadRequestError", err.Error())
	}

	e.mu.Lock()
	e.bodies = append(e.bodies, body)
	slow := e.slow
	answer := e.Answer
	var f *failure
	if len(e.mute) > 0 {
		f = &e.mute[0]
		e.mute = e.mute[1:]
	}
	e.mu.Unlock()

	if f != nil {
		return fail(f.status, "InternalServerError", f.text)
	}
	dir, status, refusal := e.folder(q.Model)
	if status != http.StatusOK {
		return status, refusal
	}
	if e.SGLang && e.LogProb != nil && bytes.Contains(body, []byte(`"return_prompt_token_ids":true`)) {
		return e.promptTokens(body)
	}

	if !e.SGLang && e.LogProb != nil && bytes.Contains(body, []byte(`"continue_final_message":true`)) {
		return e.continued(dir, body)
	}

	if q.MaxTokens != 1 {
		time.Sleep(slow)
	}

	if answer == nil {
		answer = Echo
	}

	return answer(dir, body)
}

// folder returns the folder of a model, empty for the engine's own, or the engine's reason to refuse the model.
func (e *Engine) folder(model string) (dir string, status int, refusal []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()

	name := model
	if e.SGLang {
		_, name, _ = strings.Cut(model, ":")
	}
	dir, loaded := e.adapters[name]
	own := slices.Contains(e.models(), model)
	switch {
	case e.asleep:
		status, refusal = fail(http.StatusServiceUnavailable, "ServiceUnavailable", "the engine sleeps")
	case own:
		return "", http.StatusOK, nil
	case !loaded && e.SGLang:
		status, refusal = fail(http.StatusBadRequest, "BadRequestError",
			"Got LoRA adapter that has never been loaded: "+name)
	case !loaded:
		status, refusal = fail(http.StatusNotFound, "NotFoundError", "The model `"+name+"` does not exist.")
	default:
		return dir, http.StatusOK, nil
	}

	return "", status, refusal
}
