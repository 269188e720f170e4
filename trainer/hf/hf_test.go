package hf_test

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"

	"github.com/collabui/collabui/test/kit/standin"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/hf"
)

// TestATornCheckpointDoesNotCount, whatever of it is missing.
func TestATornCheckpointDoesNotCount(t *testing.T) {
	f := external.Folder{Path: t.TempDir(), Ranks: 2}
	dir := filepath.Join(f.Out(), "checkpoint-8")
	if err := standin.MakeModel(dir, 1); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(dir, "model.safetensors"), filepath.Join(dir, "adapter_model.safetensors")); err != nil {
		t.Fatal(err)
	}
	write("adapter_config.json", `{"r": 8}`)
	write("trainer_state.json", `{"global_step": 8, "max_steps": 12, "log_history": [{"step": 1, "loss": NaN}, {"step": 8, "loss": 0.5, "rewards/margins": 0.25}]}`)
	archives := []string{"optimizer.pt", "scheduler.pt", "rng_state_0.pth", "rng_state_1.pth"}
	for _, name := range archives {
		z, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := zip.NewWriter(z).Close(); err != nil || z.Close() != nil {
			t.Fatal(err)
		}
	}
	if hf.Checkpoints(f)[8] != dir {
		t.Fatal("a whole checkpoint does not count")
	}
	for _, name := range append(archives, "trainer_state.json", "adapter_model.safetensors") {
		file := filepath.Join(dir, name)
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for what, change := range map[string]func() error{"missing": func() error { return os.Remove(file) }, "cut": func() error { return os.WriteFile(file, raw[:len(raw)/2], 0o644) }} {
			if err := change(); err != nil {
				t.Fatal(err)
			}
			if hf.Checkpoints(f)[8] != "" {
				t.Errorf("%s is %s, and the checkpoint counts", name, what)
			}
			write(name, string(raw))
		}
	}
	if p := hf.Points(f, "none.jsonl", "step"); len(p) != 2 || p[0].Loss == p[0].Loss || p[1].Margin != 0.25 {
		t.Errorf("%+v", p)
	}
	if _, metrics, err := hf.Policy(f, dir); err != nil || metrics["rewards/margins"] != 0.25 {
		t.Errorf("%v %v", metrics, err)
	}
}
