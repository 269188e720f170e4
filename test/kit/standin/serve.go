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

// Engine is a server of language models, as vLLM behaves; an adapter is a small policy in adapter_model.safetensors, model the folder of the base.
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
		q["model"], _ = json.Marshal(ref.SHA256)
		body, _ = json.Marshal(q)
		rec := httptest.NewRecorder()
		policies.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", bytes.NewReader(body)))
		return rec.Code, rec.Body.Bytes()
	}}
}

// MakeModel writes a base model: random parameters of the small policy, drawn by seed, and a configuration.
func MakeModel(dir string, seed uint64) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	raw := tinylm.New(tinylm.DefaultConfig, seed).Encode()
	return firstError(os.WriteFile(filepath.Join(dir, "model.safetensors"), raw, 0o644), os.WriteFile(filepath.Join(dir, "config.json"), fmt.Appendf(nil, `{"model_type": "stand-in", "seed": %d}`, seed), 0o644))
}

// Program writes a llamafactory-cli that is `self train FILE`, self being a program that hands its arguments to Main.
func Program(dir, self string) (string, error) {
	file := filepath.Join(dir, "llamafactory-cli")
	return file, os.WriteFile(file, []byte("#!/bin/sh\n"+mark+"=1 exec "+self+" \"$@\"\n"), 0o755)
}

const mark = "STANDIN_MAIN"

// Main is the program where it was called as one: tests call it from TestMain. It does not return then.
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
