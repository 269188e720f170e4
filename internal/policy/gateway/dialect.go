package gateway

import (
	"net/http"
	"strings"
)

// Names of the engines.
const (
	vllm   = "vllm"
	sglang = "sglang"
)

// dialect describes how an engine differs from others.
type dialect struct {
	load, unload string // POST with lora_name and lora_path
	sleep, wake  string // POST
	sleeping     string // GET, whether the engine sleeps; empty if the engine does not report it
	hint         string // what sleeping requires, for error messages
	backup       string // GET, whether the engine keeps its weights while it sleeps; empty if it always does

	model   func(base, adapter string) string // returns the name of an adapter in a chat's request
	missing func(reply) bool                  // reports whether a chat's answer means that the model is not loaded
	scoring scoring
}

var dialects = map[string]dialect{
	vllm: {
		load:     "/v1/load_lora_adapter",
		unload:   "/v1/unload_lora_adapter",
		sleep:    "/sleep?level=1",
		wake:     "/wake_up",
		sleeping: "/is_sleeping",
		hint:     "start vLLM with --enable-sleep-mode and VLLM_SERVER_DEV_MODE=1",
		model:    func(_, adapter string) string { return adapter },
		missing:  func(r reply) bool { return r.status == http.StatusNotFound },
		scoring:  vllmScoring,
	},
	sglang: {
		load:   "/load_lora_adapter",
		unload: "/unload_lora_adapter",
		sleep:  "/release_memory_occupation",
		wake:   "/resume_memory_occupation",
		hint:   "start SGLang with --enable-memory-saver and --enable-weights-cpu-backup",
		backup: "/server_info",
		model:  func(base, adapter string) string { return base + ":" + adapter },
		missing: func(r reply) bool {
			return r.status == http.StatusNotFound || r.status == http.StatusBadRequest && r.neverLoaded()
		},
		scoring: sglangScoring,
	},
}

// reply is the engine's answer. Many refusals of engines differ only in their text, so the gateway has to read it. Only
// the methods below do so.
type reply struct {
	status int
	text   string // the beginning of the body
}

func (r reply) ok() bool { return r.status == http.StatusOK }

// refused reports whether the status blames the request, so that repeating it is useless.
func (r reply) refused() bool { return r.status >= 400 && r.status < 500 }

// keyRefused reports whether the engine refuses the gateway's key.
func (r reply) keyRefused() bool {
	return r.status == http.StatusUnauthorized || r.status == http.StatusForbidden
}

// alreadyLoaded reports whether the engine refuses a load because the name is already loaded.
func (r reply) alreadyLoaded() bool {
	return r.status == http.StatusBadRequest &&
		strings.Contains(r.text, "already") && strings.Contains(r.text, "loaded")
}

// neverLoaded reports whether SGLang has no adapter of that name.
func (r reply) neverLoaded() bool {
	return strings.Contains(r.text, "never been loaded") || strings.Contains(r.text, "not loaded") ||
		strings.Contains(r.text, "Failed to implicitly load")
}

// unloading reports whether SGLang is still unloading an adapter of that name.
func (r reply) unloading() bool { return strings.Contains(r.text, "incomplete unload") }

// noPath reports whether the engine does not know the request's path, because it is too old or was started without it.
func (r reply) noPath() bool {
	return r.status == http.StatusMethodNotAllowed ||
		r.status == http.StatusNotFound && strings.Contains(r.text, `"detail":"Not Found"`)
}

// rankTooLarge reports whether the engine refuses an adapter because of its rank.
func (r reply) rankTooLarge() bool { return strings.Contains(r.text, "max_lora_rank") }
