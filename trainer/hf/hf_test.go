package hf_test

import (
	"archive/zip"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/collabui/collabui/test/kit/standin"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/hf"
)

// archives are the files of a checkpoint that torch.save writes.
var archives = []string{"optimizer.pt", "scheduler.pt", "rng_state_0.pth", "rng_state_1.pth"}

// writeCheckpoint makes a folder with the complete checkpoint of step 8, written by two processes.
func writeCheckpoint(t *testing.T) (f external.Folder, dir string) {
	t.Helper()

	f = external.Folder{Path: t.TempDir(), Ranks: 2}
	dir = filepath.Join(f.Out(), "checkpoint-8")
	if err := standin.MakeModel(dir, 1); err != nil {
		t.Fatal(err)
	}
	model, adapter := filepath.Join(dir, "model.safetensors"), filepath.Join(dir, "adapter_model.safetensors")
	if err := os.Rename(model, adapter); err != nil {
		t.Fatal(err)
	}

	for name, text := range map[string]string{
		"adapter_config.json": `{"r": 8, "lora_alpha": 16, "target_modules": ["q_proj"], ` +
			`"base_model_name_or_path": "m"}`,
		"trainer_state.json": `{"global_step": 8, "max_steps": 12, "log_history": [` +
			`{"step": 1, "loss": NaN}, {"step": 8, "loss": 0.5, "rewards/margins": 0.25}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range archives {
		z, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := zip.NewWriter(z).Close(); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}

	return f, dir
}

// TestATornCheckpointDoesNotCount, whichever of its files is missing or cut off.
func TestATornCheckpointDoesNotCount(t *testing.T) {
	f, dir := writeCheckpoint(t)
	if got := hf.Checkpoints(f)[8]; got != dir {
		t.Fatalf("the complete checkpoint of step 8 = %q, want %q", got, dir)
	}

	for _, name := range append(archives, "trainer_state.json", "adapter_model.safetensors") {
		file := filepath.Join(dir, name)
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		for what, spoil := range map[string]func() error{
			"missing": func() error { return os.Remove(file) },
			"cut off": func() error { return os.WriteFile(file, raw[:len(raw)/2], 0o644) },
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				if err := spoil(); err != nil {
					t.Fatal(err)
				}
				if got := hf.Checkpoints(f)[8]; got != "" {
					t.Errorf("the torn checkpoint counts as %q, want none", got)
				}
				if err := os.WriteFile(file, raw, 0o644); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// TestCurveAndMetricsOfACheckpoint: a loss that is not a number is part of the curve.
func TestCurveAndMetricsOfACheckpoint(t *testing.T) {
	f, dir := writeCheckpoint(t)

	p := hf.Points(f, "none.jsonl", "step")
	if len(p) != 2 {
		t.Fatalf("%d points, want 2: %+v", len(p), p)
	}
	if !math.IsNaN(p[0].Loss) {
		t.Errorf("loss of step 1 = %v, want NaN", p[0].Loss)
	}
	if p[1].Margin != 0.25 {
		t.Errorf("margin of step 8 = %v, want 0.25", p[1].Margin)
	}

	_, metrics, err := hf.Policy(f, dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := metrics["rewards/margins"]; got != 0.25 {
		t.Errorf("rewards/margins = %v, want 0.25", got)
	}
}
