package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/standin"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/llamafactory"
)

// TestAnAdapterOfOnesOwnIsAPolicy: what is imported can be adopted by the trainer of its base model, and only by that one.
func TestAnAdapterOfOnesOwnIsAPolicy(t *testing.T) {
	b, dir := &store.Memory{}, t.TempDir()
	model, other, adapter := filepath.Join(dir, "model"), filepath.Join(dir, "other"), filepath.Join(dir, "adapter")
	for i, m := range []string{model, other, adapter} {
		if err := standin.MakeModel(m, uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(adapter, "model.safetensors"), filepath.Join(adapter, "adapter_model.safetensors")); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(adapter, "adapter_config.json")
	for text, want := range map[string]string{`{}`: "names no rank", `{`: "unexpected end"} {
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := importFolder(t.Context(), b, adapter, model); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := os.WriteFile(config, []byte(`{"r": 8, "target_modules": ["b", "a"], "base_model_name_or_path": "/home/somebody/model"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := importFolder(t.Context(), b, adapter, ""); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	got, err := importFolder(t.Context(), b, adapter, model)
	again, err2 := importFolder(t.Context(), b, adapter, model)
	if err != nil || err2 != nil || got.Kind != domain.ArtifactLoRA || got.Digest != again.Digest {
		t.Fatalf("%+v %+v %v %v", got, again, err, err2)
	}
	tr := &external.Trainer{Host: external.Host{Bucket: b, Work: filepath.Join(dir, "work")}, Tool: &llamafactory.Tool{Bucket: b}}
	options := func(model string) json.RawMessage {
		o := llamafactory.DefaultOptions()
		o.Model = model
		raw, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}

		return raw
	}
	if p, err := tr.Adopt(t.Context(), got.Digest, options(model)); err != nil || p.Digest != got.Digest || len(p.Report.Files) != 2 {
		t.Errorf("%+v %v", p, err)
	}
	one, err := tr.Adopt(t.Context(), domain.UntrainedBase, options(model))
	two, err2 := tr.Adopt(t.Context(), domain.UntrainedBase, options(model))
	if err != nil || err2 != nil || one.Digest != two.Digest || one.Digest == got.Digest {
		t.Errorf("%+v %+v %v %v", one, two, err, err2)
	}
	if _, err := tr.Adopt(t.Context(), got.Digest, options(other)); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "belongs to the base model model") {
		t.Error(err)
	}
	out := filepath.Join(dir, "out")
	if n, err := exportPolicy(t.Context(), b, got.Digest, out); err != nil || n != 2 {
		t.Error(n, err)
	}
	if again, err := importFolder(t.Context(), b, out, model); err != nil || again.Digest != got.Digest {
		t.Errorf("what is exported and imported again is another policy: %+v %v", again, err)
	}
	if _, err := exportPolicy(t.Context(), b, store.Sum([]byte("none")), filepath.Join(dir, "none")); err == nil {
		t.Error("a policy that is not there was written")
	}
	full, err := importFolder(t.Context(), b, other, model)
	if raw, err2 := store.GetBlob(t.Context(), b, full.Digest); err != nil || err2 != nil || full.Kind != domain.ArtifactFull || !json.Valid(raw) {
		t.Errorf("%+v %v %v", full, err, err2)
	}
}
