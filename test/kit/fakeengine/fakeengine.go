// Package fakeengine behaves like the part of vLLM's HTTP surface, or of SGLang's, that internal/serving uses, and misbehaves on request. Only tests import it.
package fakeengine

import (
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

// Answer says what a model answers to a chat request; dir is the adapter's folder, empty for a model of the engine's own.
type Answer func(dir string, body []byte) (status int, response []byte)

// Echo answers with the bytes of adapter_model.safetensors, or with "base".
func Echo(dir string, _ []byte) (int, []byte) {
	text := "base"
	if dir != "" {
		raw, err := os.ReadFile(filepath.Join(dir, "adapter_model.safetensors"))
		if err != nil {
			return http.StatusInternalServerError, problem("InternalServerError", http.StatusInternalServerError, err.Error())
		}
		text = string(raw)
	}
	out, err := json.Marshal(map[string]any{"object": "chat.completion", "choices": []any{map[string]any{"index": 0, "finish_reason": "stop",
		"message": map[string]any{"role": "assistant", "content": text}}}, "usage": map[string]any{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}})
	if err != nil {
		panic(err) // plain values only
	}
	return http.StatusOK, out
}

// Engine is an http.Handler. Its fields are set before it serves; its methods may be called at any time.
type Engine struct {
	SGLang   bool
	Models   []string // served names of the model, "base" where there is none
	Key      string   // bearer key that it wants
	Limit    int      // adapters at once; 0: any number
	NoSleep  bool     // was started without what sleeping needs
	Unlisted bool     // /v1/models leaves out adapters, as older SGLang does
	Answer   Answer   // nil: Echo

	mu       sync.Mutex
	adapters map[string]string // folder by name
	asleep   bool
	down     bool
	slow     time.Duration
	broken   []failure // of the next loads
	mute     []failure // of the next chats
	calls    map[string]int
	bodies   [][]byte
}

type failure struct {
	status int
	text   string
}

// Restart forgets all adapters and wakes, as a new process would.
func (e *Engine) Restart() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.adapters, e.asleep = nil, false
}

// Down breaks every connection off while it is true.
func (e *Engine) Down(down bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down = down
}

// Slow makes chats of more than one token take so long.
func (e *Engine) Slow(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.slow = d
}

// FailLoad makes the next load fail so.
func (e *Engine) FailLoad(status int, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.broken = append(e.broken, failure{status, text})
}

// FailChat makes the next chat fail so.
func (e *Engine) FailChat(status int, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mute = append(e.mute, failure{status, text})
}

// Put loads a folder under a name, as somebody else would.
func (e *Engine) Put(name, dir string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.adapters == nil {
		e.adapters = map[string]string{}
	}
	e.adapters[name] = dir
}

// Loaded gives the names of adapters, sorted.
func (e *Engine) Loaded() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.adapters))
}

// Asleep tells whether it sleeps.
func (e *Engine) Asleep() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asleep
}

// Calls counts the requests to a path.
func (e *Engine) Calls(path string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls[path]
}

// Bodies gives the chat requests so far, probes included.
func (e *Engine) Bodies() [][]byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.bodies)
}

func (e *Engine) models() []string {
	if len(e.Models) == 0 {
		return []string{"base"}
	}
	return e.Models
}

// problem is the form of errors that both engines have for chats.
func problem(kind string, status int, text string) []byte {
	out, err := json.Marshal(map[string]any{"error": map[string]any{"message": text, "type": kind, "param": nil, "code": status}})
	if err != nil {
		panic(err) // plain values only
	}
	return out
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
	path, lora, sleep, wake := r.URL.Path, "/v1", "/sleep", "/wake_up"
	if e.SGLang {
		lora, sleep, wake = "", "/release_memory_occupation", "/resume_memory_occupation"
	}
	if e.Key != "" && r.Header.Get("Authorization") != "Bearer "+e.Key && path != "/health" {
		return http.StatusUnauthorized, []byte(`{"error":"Unauthorized"}`)
	}
	if path == "/v1/chat/completions" && r.Method == http.MethodPost {
		return e.chat(body)
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
	case "GET /is_sleeping":
		if !e.SGLang {
			return http.StatusOK, fmt.Appendf(nil, `{"is_sleeping":%v}`, e.asleep)
		}
	}
	return http.StatusNotFound, []byte(`{"detail":"Not Found"}`)
}

func (e *Engine) list() (int, []byte) {
	var data []map[string]any
	for _, m := range e.models() {
		data = append(data, map[string]any{"id": m, "object": "model", "root": "/models/" + m, "parent": nil})
	}
	for _, name := range slices.Sorted(maps.Keys(e.adapters)) {
		if !e.Unlisted {
			data = append(data, map[string]any{"id": name, "object": "model", "root": e.adapters[name], "parent": e.models()[0]})
		}
	}
	out, err := json.Marshal(map[string]any{"object": "list", "data": data})
	if err != nil {
		panic(err) // plain values only
	}
	return http.StatusOK, out
}

type adapter struct {
	Name string `json:"lora_name"`
	Path string `json:"lora_path"`
}

// refused is how an engine says no to a load or an unload.
func (e *Engine) refused(status int, kind, text string) (int, []byte) {
	if e.SGLang {
		out, err := json.Marshal(map[string]any{"success": false, "error_message": text, "loaded_adapters": e.adapters})
		if err != nil {
			panic(err) // plain values only
		}
		return http.StatusBadRequest, out
	}
	return status, problem(kind, status, text)
}

func (e *Engine) load(body []byte) (int, []byte) {
	var a adapter
	if json.Unmarshal(body, &a) != nil || a.Name == "" || a.Path == "" {
		return e.refused(http.StatusBadRequest, "InvalidUserInput", "Both 'lora_name' and 'lora_path' must be provided.")
	}
	if len(e.broken) > 0 {
		f := e.broken[0]
		e.broken = e.broken[1:]
		return e.refused(f.status, "InternalServerError", f.text)
	}
	if _, there := e.adapters[a.Name]; there && e.SGLang {
		return e.refused(0, "", "Failed to load LoRA adapter "+a.Name+": it is already loaded. If you want to reload it, please unload it first.")
	} else if there {
		return e.refused(http.StatusBadRequest, "InvalidUserInput", "The lora adapter '"+a.Name+"' has already been loaded. If you want to load the adapter in place, set 'load_inplace' to True.")
	}
	if _, err := os.Stat(filepath.Join(a.Path, "adapter_config.json")); err != nil {
		return e.refused(http.StatusNotFound, "NotFoundError", "Loading lora "+a.Name+" failed: No adapter found for "+a.Path)
	}
	if e.Limit > 0 && len(e.adapters) >= e.Limit {
		return e.refused(http.StatusInternalServerError, "InternalServerError", fmt.Sprintf("no room: %d adapters are loaded", e.Limit))
	}
	if e.adapters == nil {
		e.adapters = map[string]string{}
	}
	e.adapters[a.Name] = a.Path
	if e.SGLang {
		return http.StatusOK, []byte(`{"success":true,"error_message":""}`)
	}
	return http.StatusOK, []byte("Success: LoRA adapter '" + a.Name + "' added successfully.")
}

func (e *Engine) unload(body []byte) (int, []byte) {
	var a adapter
	if json.Unmarshal(body, &a) != nil || a.Name == "" {
		return e.refused(http.StatusBadRequest, "InvalidUserInput", "'lora_name' needs to be provided to unload a LoRA adapter.")
	}
	if _, there := e.adapters[a.Name]; !there {
		return e.refused(http.StatusNotFound, "NotFoundError", "The lora adapter '"+a.Name+"' cannot be found.")
	}
	delete(e.adapters, a.Name)
	if e.SGLang {
		return http.StatusOK, []byte(`{"success":true,"error_message":""}`)
	}
	return http.StatusOK, []byte("Success: LoRA adapter '" + a.Name + "' removed successfully.")
}

func (e *Engine) chat(body []byte) (int, []byte) {
	var q struct {
		Model     string `json:"model"`
		MaxTokens int    `json:"max_tokens"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return http.StatusBadRequest, problem("BadRequestError", http.StatusBadRequest, err.Error())
	}
	e.mu.Lock()
	e.bodies = append(e.bodies, body)
	asleep, slow, answer := e.asleep, e.slow, e.Answer
	name := q.Model
	if e.SGLang {
		_, name, _ = strings.Cut(q.Model, ":")
	}
	dir, there := e.adapters[name]
	var f *failure
	if len(e.mute) > 0 {
		f, e.mute = &e.mute[0], e.mute[1:]
	}
	e.mu.Unlock()
	own := slices.Contains(e.models(), q.Model)
	switch {
	case f != nil:
		return f.status, problem("InternalServerError", f.status, f.text)
	case asleep:
		return http.StatusServiceUnavailable, problem("ServiceUnavailable", http.StatusServiceUnavailable, "the engine sleeps")
	case own:
		dir = ""
	case !there && e.SGLang:
		return http.StatusBadRequest, problem("BadRequestError", http.StatusBadRequest, "Got LoRA adapter that has never been loaded: "+name)
	case !there:
		return http.StatusNotFound, problem("NotFoundError", http.StatusNotFound, "The model `"+name+"` does not exist.")
	}
	if q.MaxTokens != 1 {
		time.Sleep(slow)
	}
	if answer == nil {
		answer = Echo
	}
	return answer(dir, body)
}
