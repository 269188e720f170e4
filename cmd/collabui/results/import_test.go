package results

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/standin"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/llamafactory"
)

// folders are two models and an adapter of the first.
type folders struct {
	dir, model, other, adapter string
}

func newFolders(t *testing.T) folders {
	t.Helper()
	dir := t.TempDir()
	f := folders{
		dir: dir, model: filepath.Join(dir, "model"),
		other: filepath.Join(dir, "other"), adapter: filepath.Join(dir, "adapter"),
	}
	for i, path := range []string{f.model, f.other, f.adapter} {
		if err := standin.MakeModel(path, uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	from, to := filepath.Join(f.adapter, "model.safetensors"), filepath.Join(f.adapter, "adapter_model.safetensors")
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
	f.configure(t, `{"r": 8, "lora_alpha": 16, "target_modules": ["b", "a"],
		"base_model_name_or_path": "/home/somebody/model"}`)

	return f
}

// configure writes the configuration of the adapter.
func (f folders) configure(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.adapter, "adapter_config.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wantInvalid checks that err is an invalid fault with a text.
func wantInvalid(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), text) {
		t.Errorf("the error is %v, want an invalid fault with %q", err, text)
	}
}

func TestBrokenAdaptersAreNotImported(t *testing.T) {
	b, f := &store.Memory{}, newFolders(t)
	_, err := importFolder(t.Context(), b, f.adapter, "")
	wantInvalid(t, err, "set --base-model")

	for text, want := range map[string]string{
		`{}`: "names no rank", `{`: "unexpected end",
		`{"r": 8, "peft_type": "IA3"}`:                           "peft_type: expected LORA, not IA3",
		`{"r": 8, "task_type": "SEQ_CLS"}`:                       "task_type: expected CAUSAL_LM",
		`{"r": 8, "lora_alpha": 16, "target_modules": ["q"]}`:    "lacks base_model_name_or_path",
		`{"r": 8, "base_model_name_or_path": "m"}`:               "lacks lora_alpha",
		`{"r": 8, "base_model_name_or_path":"m","lora_alpha":1}`: "lacks target_modules",
	} {
		f.configure(t, text)
		_, err := importFolder(t.Context(), b, f.adapter, f.model)
		wantInvalid(t, err, want)
	}
}

// TestWhatWasImportedIsKept collects garbage between an import and the first run that uses it.
func TestWhatWasImportedIsKept(t *testing.T) {
	b, f := &store.Memory{}, newFolders(t)
	x, err := importFolder(t.Context(), b, f.adapter, f.model)
	if err != nil {
		t.Fatal(err)
	}
	before, err := store.Keys(t.Context(), b, store.BlobPrefix)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		gc := collect.Policy{Grace: time.Nanosecond}
		if _, err := collect.Collect(t.Context(), b, gc, false, func(int, int) {}); err != nil {
			t.Fatal(err)
		}
	}
	after, err := store.Keys(t.Context(), b, store.BlobPrefix)
	if err != nil || len(before) < 2 || !slices.Equal(before, after) {
		t.Errorf("gc left %v, %v of the import %s; want %v", after, err, x.Digest, before)
	}
}

func TestACustomAdapterIsAPolicyOfItsBaseModelOnly(t *testing.T) {
	b, f := &store.Memory{}, newFolders(t)
	got, err := importFolder(t.Context(), b, f.adapter, f.model)
	if err != nil {
		t.Fatal(err)
	}
	if got.Kind != domain.ArtifactLoRA {
		t.Errorf("the kind is %s, want %s", got.Kind, domain.ArtifactLoRA)
	}
	again, err := importFolder(t.Context(), b, f.adapter, f.model)
	if err != nil || again.Digest != got.Digest {
		t.Errorf("imported again: %s, %v; want %s", again.Digest, err, got.Digest)
	}

	trainer := &external.Trainer{
		Host: external.Host{Bucket: b, Work: filepath.Join(f.dir, "work")}, Tool: &llamafactory.Tool{Bucket: b},
	}
	o := llamafactory.DefaultOptions()
	o.Model = f.model
	raw := optionsJSON(t, o)
	p, err := trainer.Adopt(t.Context(), got.Digest, raw)
	if err != nil || p.Digest != got.Digest || len(p.Report.Files) != 2 {
		t.Errorf("Adopt = %+v, %v; want policy %s with 2 files", p, err, got.Digest)
	}
	one, err := trainer.Adopt(t.Context(), domain.UntrainedBase, raw)
	if err != nil {
		t.Fatal(err)
	}
	two, err := trainer.Adopt(t.Context(), domain.UntrainedBase, raw)
	if err != nil || one.Digest != two.Digest || one.Digest == got.Digest {
		t.Errorf("Adopt of the untrained base = %s then %s, %v; want the same, but not the adapter",
			one.Digest, two.Digest, err)
	}
	o.Model = f.other
	_, err = trainer.Adopt(t.Context(), got.Digest, optionsJSON(t, o))
	wantInvalid(t, err, "belongs to the base model model")
}

func TestAnExportedPolicyIsTheImportedOne(t *testing.T) {
	b, f := &store.Memory{}, newFolders(t)
	got, err := importFolder(t.Context(), b, f.adapter, f.model)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(f.dir, "out")
	if n, err := exportPolicy(t.Context(), b, got.Digest, out); err != nil || n != 2 {
		t.Errorf("exportPolicy = %d files, %v; want 2", n, err)
	}
	config := unmarshal[map[string]any](t, filepath.Join(out, "adapter_config.json"))
	for name, want := range map[string]any{
		"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": "model", "r": 8.0, "lora_alpha": 16.0,
	} {
		if config[name] != want {
			t.Errorf("%s of the adapter's configuration = %v, want %v", name, config[name], want)
		}
	}
	if again, err := importFolder(t.Context(), b, out, f.model); err != nil || again.Digest != got.Digest {
		t.Errorf("imported after the export: %s, %v; want %s", again.Digest, err, got.Digest)
	}
	if n, err := exportPolicy(t.Context(), b, store.Sum([]byte("none")), filepath.Join(f.dir, "none")); err == nil {
		t.Errorf("exportPolicy of a missing policy = %d files, want an error", n)
	}
}

func TestAWholeModelIsAPolicy(t *testing.T) {
	b, f := &store.Memory{}, newFolders(t)
	full, err := importFolder(t.Context(), b, f.other, f.model)
	if err != nil || full.Kind != domain.ArtifactFull {
		t.Fatalf("importFolder = %+v, %v; want kind %s", full, err, domain.ArtifactFull)
	}
	raw, err := store.GetBlob(t.Context(), b, full.Digest)
	if err != nil || !json.Valid(raw) {
		t.Errorf("the stored policy is %q, %v; want JSON", raw, err)
	}
}

// optionsJSON encodes a trainer's options as a specification holds them.
func optionsJSON(t *testing.T, o llamafactory.Options) []byte {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}

	return raw
}

// TestNoCodeIsImported: a key that names code is refused, and files with code stay behind.
func TestNoCodeIsImported(t *testing.T) {
	for _, name := range []string{
		"config.json", "tokenizer_config.json", "processor_config.json", "generation_config.json",
	} {
		b, f := &store.Memory{}, newFolders(t)
		file := filepath.Join(f.other, name)
		if err := os.WriteFile(file, []byte(`{"auto_map": {"AutoModel": "code.Model"}}`), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := importFolder(t.Context(), b, f.other, f.model)
		wantInvalid(t, err, file+" has the key auto_map")
		_, err = importFolder(t.Context(), b, f.adapter, f.other) // as the base model
		wantInvalid(t, err, file+" has the key auto_map")
		if keys, err := store.Keys(t.Context(), b, ""); err != nil || len(keys) > 0 {
			t.Errorf("the store has %v (%v), want nothing", keys, err)
		}
	}

	b, f := &store.Memory{}, newFolders(t)
	for _, name := range []string{"zero_to_fp32.py", "training_args.bin", "adapter_model.bin"} {
		if err := os.WriteFile(filepath.Join(f.adapter, name), []byte("code"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	x, err := importFolder(t.Context(), b, f.adapter, f.model)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := store.GetBlob(t.Context(), b, x.Digest)
	if err != nil {
		t.Fatal(err)
	}
	a, err := domain.DecodeArtifact(raw)
	if err != nil || len(a.Files) != 2 {
		t.Errorf("the policy has the files %v (%v), want weights and configuration only", a.Files, err)
	}
}
