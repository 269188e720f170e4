package standin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/policy/tinyserver"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/fakeengine"
)

// Engine returns a server of language models that behaves as vLLM does. model is the folder of the base model. An
// adapter is a small policy in adapter_model.safetensors.
func Engine(model string) *fakeengine.Engine {
	b := &store.Memory{}
	policies := tinyserver.New(b)

	return &fakeengine.Engine{Answer: func(dir string, body []byte) (int, []byte) {
		name := "adapter_model.safetensors"
		if dir == "" {
			dir, name = model, "model.safetensors"
		}

		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return http.StatusInternalServerError, []byte(err.Error())
		}

		ref, err := store.PutBlob(context.Background(), b, raw)
		var q map[string]json.RawMessage
		if err == nil {
			err = json.Unmarshal(body, &q)
		}
		if err != nil {
			return http.StatusBadRequest, []byte(err.Error())
		}

		q["model"], _ = json.Marshal(ref.SHA256) // strings always marshal
		body, _ = json.Marshal(q)
		rec := httptest.NewRecorder()
		policies.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", bytes.NewReader(body)))

		return rec.Code, rec.Body.Bytes()
	}}
}

// MakeModel writes a base model: parameters of the small policy, drawn from seed, and a configuration.
func MakeModel(dir string, seed uint64) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}

	raw := tinylm.New(tinylm.DefaultConfig, seed).Encode()
	conf := fmt.Appendf(nil, `{"model_type": "stand-in", "seed": %d}`, seed)

	return firstError(write(dir, "model.safetensors", raw), write(dir, "config.json", conf))
}

// Program writes a llamafactory-cli that runs self with its arguments. self is a program that calls Main.
func Program(dir, self string) (string, error) {
	file := filepath.Join(dir, "llamafactory-cli")

	return file, os.WriteFile(file, []byte("#!/bin/sh\n"+mark+"=1 exec "+self+" \"$@\"\n"), 0o755)
}

// mark is the environment variable with which Program's script marks a call.
const mark = "STANDIN_MAIN"

// Main does the work of llamafactory-cli and exits if this process was started by Program's script. Tests call it from
// TestMain.
func Main() {
	if os.Getenv(mark) == "" {
		return
	}

	if len(os.Args) == 3 && os.Args[1] == "train" {
		os.Exit(Train(os.Args[2]))
	}

	fmt.Fprintln(os.Stderr, "usage: train FILE")
	os.Exit(2)
}
