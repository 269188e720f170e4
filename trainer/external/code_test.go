package external

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/standin"
)

// withCode are files that make transformers or PEFT run what a model's folder says.
func withCode() map[string]string {
	const auto = `{"model_type": "x", "auto_map": {"AutoConfig": "code.Config"}}`
	out := map[string]string{
		"modeling_x.py": "print()", "custom.py": "", "pytorch_model.bin": "x", "pytorch_model-00001-of-00002.bin": "x",
		"adapter_model.bin": "x",
	}
	for _, name := range []string{
		"config.json", "tokenizer_config.json", "processor_config.json", "generation_config.json",
		"preprocessor_config.json", "video_preprocessor_config.json", "adapter_config.json",
	} {
		out[name] = auto
	}

	return out
}

// hidden are configurations that name code in other ways.
var hidden = map[string]string{
	"escaped":       `{"auto\u005fmap": {"AutoModel": "code.Model"}}`,
	"of a hub":      `{"auto_map": {"AutoModel": "someone/model--code.Model"}}`,
	"below":         `{"text_config": {"auto_map": {"AutoModel": "code.Model"}}}`,
	"in a list":     `{"parts": [{"x": [{"auto_map": {}}]}]}`,
	"after another": `{"auto_map": null, "auto_map": {"AutoModel": "code.Model"}}`,
	"beside NaN":    `{"a": [NaN, -Infinity], "b": Infinity, "auto_map": "code.Model"}`,
	"pipelines":     `{"custom_pipelines": {"x": {"impl": "code.Pipeline"}}}`,
	"megatron":      `{"megatron_config": {}, "megatron_core": "code"}`,
	"no JSON":       `{"auto_map": {"AutoModel": "code.Model"}`,
}

// modelWith makes a model's folder with one file more.
func modelWith(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := standin.MakeModel(dir, 1); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}

	return dir
}

// wantCode checks that an error is an invalid fault that names a file.
func wantCode(t *testing.T, err error, file string) {
	t.Helper()
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), file) {
		t.Errorf("error = %v, want an invalid fault that names %s", err, file)
	}
}

// TestAModelWithCodeIsRefused before it is trained or served: ModelOf looks at base models for both.
func TestAModelWithCodeIsRefused(t *testing.T) {
	for name, text := range withCode() {
		t.Run(name, func(t *testing.T) {
			dir := modelWith(t, name, text)
			_, err := ModelOf(dir)
			wantCode(t, err, filepath.Join(dir, name))

			t.Setenv(config.EnvTrainerOptions, trustCode)
			if _, err := ModelOf(dir); err != nil {
				t.Errorf("ModelOf with %s listed = %v, want no error", trustCode, err)
			}
		})
	}
	for name, text := range hidden {
		t.Run(name, func(t *testing.T) {
			_, err := ModelOf(modelWith(t, "config.json", text))
			wantCode(t, err, "config.json")
		})
	}
	for name, text := range map[string]string{
		"config.json":       `{"auto_map": null, "limit": [0.0, Infinity], "architectures": ["auto_map"]}`,
		"tokenizer.json":    `{"model": {"vocab": {"auto_map": 5}}}`,
		"training_args.bin": "x",
	} {
		if _, err := ModelOf(modelWith(t, name, text)); err != nil {
			t.Errorf("ModelOf with %s = %v, want no error", name, err)
		}
	}
}

// TestAPolicyWithCodeIsRefused when it comes from the store, whoever put it there.
func TestAPolicyWithCodeIsRefused(t *testing.T) {
	for name, text := range withCode() {
		t.Run(name, func(t *testing.T) {
			b := &store.Memory{}
			tr := &Trainer{Host: Host{Bucket: b, Work: t.TempDir()}}
			a := domain.Artifact{Kind: domain.ArtifactFull}
			dir := modelWith(t, name, text)
			files := map[string]string{name: filepath.Join(dir, name)}
			_, digest, err := PutArtifact(t.Context(), b, a, files)
			if err != nil {
				t.Fatal(err)
			}
			_, err = tr.local(t.Context(), digest, Local{})
			wantCode(t, err, name)
		})
	}
}

// TestAnArtifactHasNoCode: what a store has is neither trained nor served then.
func TestAnArtifactHasNoCode(t *testing.T) {
	for _, name := range []string{
		"a.py", "a.PY", "b/c.py", "pytorch_model.bin", "x.pt", "x.pth", "x.pkl", "x.so", "x.ckpt",
	} {
		a := domain.Artifact{Kind: domain.ArtifactLoRA, Files: []domain.ArtifactFile{{Path: name}}}
		body, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := domain.DecodeArtifact(body); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("an artifact with %s: %v, want an error that names it", name, err)
		}
	}
}
