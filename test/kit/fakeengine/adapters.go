package fakeengine

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
)

// adapter is the request of a load or an unload.
type adapter struct {
	Name string `json:"lora_name"`
	Path string `json:"lora_path"`
}

// refused returns the response with which an engine refuses a load or an unload.
func (e *Engine) refused(status int, kind, text string) (int, []byte) {
	if e.SGLang {
		return http.StatusBadRequest, encode(map[string]any{
			"success":         false,
			"error_message":   text,
			"loaded_adapters": e.adapters,
		})
	}

	return fail(status, kind, text)
}

func (e *Engine) load(body []byte) (int, []byte) {
	var a adapter
	if json.Unmarshal(body, &a) != nil || a.Name == "" || a.Path == "" {
		return e.refused(http.StatusBadRequest, "InvalidUserInput",
			"Both 'lora_name' and 'lora_path' must be provided.")
	}

	if len(e.broken) > 0 {
		f := e.broken[0]
		e.broken = e.broken[1:]

		return e.refused(f.status, "InternalServerError", f.text)
	}

	if _, loaded := e.adapters[a.Name]; loaded {
		text := "The lora adapter '" + a.Name + "' has already been loaded. " +
			"If you want to load the adapter in place, set 'load_inplace' to True."
		if e.SGLang {
			text = "Failed to load LoRA adapter " + a.Name + ": it is already loaded. " +
				"If you want to reload it, please unload it first."
		}

		return e.refused(http.StatusBadRequest, "InvalidUserInput", text)
	}

	if _, err := os.Stat(filepath.Join(a.Path, "adapter_config.json")); err != nil {
		return e.refused(http.StatusNotFound, "NotFoundError",
			"Loading lora "+a.Name+" failed: No adapter found for "+a.Path)
	}

	if e.Limit > 0 && len(e.adapters) >= e.Limit {
		return e.refused(http.StatusInternalServerError, "InternalServerError",
			fmt.Sprintf("no room: %d adapters are loaded", e.Limit))
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
		return e.refused(http.StatusBadRequest, "InvalidUserInput",
			"'lora_name' needs to be provided to unload a LoRA adapter.")
	}

	if _, loaded := e.adapters[a.Name]; !loaded {
		return e.refused(http.StatusNotFound, "NotFoundError", "The lora adapter '"+a.Name+"' cannot be found.")
	}

	delete(e.adapters, a.Name)
	if e.SGLang {
		return http.StatusOK, []byte(`{"success":true,"error_message":""}`)
	}

	return http.StatusOK, []byte("Success: LoRA adapter '" + a.Name + "' removed successfully.")
}
