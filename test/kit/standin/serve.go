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

// Engine returns a server of language models that behaves like vLLM. model is the folder of the base model. An adapter
// is a small policy in adapter_model.safetensors.
func Engine(model string) *fakeengine.Engine {
	memory := &store.Memory{}
	policies := tinyserver.New(memory)

	return &fakeengine.Engine{
		LogProb: func(dir, _, user, answer string) float64 { return logProb(weights(model, dir), user, answer) },
		Answer: func(dir string, body []byte) (int, []byte) {
			raw, err := os.ReadFile(weights(model, dir))
			if err != nil {
				return http.StatusInternalServerError, []byte(err.Error())
			}

			ref, err := store.PutBlob(context.Background(), memory, raw)
			var q map[string]json.RawMessage
			if err == nil {
				err = json.Unmarshal(body, &q)
			}
			if err != nil {
				return http.StatusBadRequest, []byte(err.Error())
			}

			q["model"], _ = json.Marshal(ref.SHA256) // strings can always be encoded
			body, _ = json.Marshal(q)
			rec := httptest.NewRecorder()
			policies.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", bytes.NewReader(body)))

			return rec.Code, rec.Body.Bytes()
		},
	}
}

// weights returns the file of an adapter's parameters, or of the base model's if dir is empty.
func weights(model, dir string) string {
	if dir == "" {
		return filepath.Join(model, "model.safetensors")
	}

	return filepath.Join(dir, "adapter_model.safetensors")
}

// never is the log-probability of an answer that the small policy cannot express. A language model gives every text
// some probability.
const never = -200

// logProb returns log π of an answer under the policy in a file.
func logProb(file, prompt, answer string) float64 {
	raw, err := os.ReadFile(file)
	if err != nil {
		return never
	}
	model, err := tinylm.Decode(raw)
	if err != nil {
		return never
	}

	p := tinylm.ParsePrompt(prompt)
	choice, err := p.Parse(answer)
	if err != nil {
		return never
	}

	return model.LogProbs([]tinylm.Example{{Prompt: p, Answers: []tinylm.Choice{choice}}}, 1)[0][0]
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
