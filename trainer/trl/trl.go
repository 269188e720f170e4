// Package trl updates adapters with Hugging Face's TRL: DPO only, by a script of some seventy lines. It is also the example of docs/add-a-trainer.md: what a training program of one's own
// needs beside its script is a Tool like this one, and a line in trainer/registry.
package trl

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/hf"
)

//go:embed train.py
var script []byte

// Options are `trainer.options` of a specification with `trainer.name: trl`.
type Options struct {
	Model     string `json:"model" yaml:"model"`           // folder of the base model, the same path on every GPU worker
	Rank      int    `json:"rank" yaml:"rank"`             // of LoRA
	Cutoff    int    `json:"cutoff" yaml:"cutoff"`         // tokens of prompt and answer together; a longer row is refused
	Devices   int    `json:"devices" yaml:"devices"`       // 1, or 0 for the CPU
	PerDevice int    `json:"per_device" yaml:"per_device"` // rows at once
	Precision string `json:"precision" yaml:"precision"`   // bfloat16 | float32
	SaveSteps int    `json:"save_steps" yaml:"save_steps"` // optimiser steps between checkpoints
}

// DefaultOptions are those of a 7B model on one GPU.
func DefaultOptions() Options {
	return Options{Rank: 8, Cutoff: 4096, Devices: 1, PerDevice: 1, Precision: "bfloat16", SaveSteps: 20}
}

// Check says which options are impossible.
func (o Options) Check(must func(ok bool, field, expected string, args ...any), batches ...int) {
	must(o.Model != "", "model", "the folder of the base model on the GPU workers")
	must(o.Rank >= 1, "rank", "a whole number from 1")
	must(o.Cutoff >= 64, "cutoff", "a whole number from 64")
	must(o.Devices == 0 || o.Devices == 1, "devices", "0 or 1, not %d", o.Devices)
	must(o.Precision == "bfloat16" || o.Precision == "float32", "precision", "one of [bfloat16 float32], not %q", o.Precision)
	must(o.SaveSteps >= 1, "save_steps", "a whole number from 1")
	must(o.PerDevice >= 1, "per_device", "a whole number from 1")
	for _, b := range batches {
		must(b%max(1, o.PerDevice) == 0, "per_device", "a divisor of the batch of %d rows", b)
	}
}

// Tool drives the script.
type Tool struct {
	hf.Common
	Python string // interpreter with torch, transformers, peft, datasets and trl; "": python3
}

var _ external.Tool = (*Tool)(nil)

func decode(raw json.RawMessage) (Options, error) {
	o := DefaultOptions()
	err := json.Unmarshal(raw, &o)
	if err == nil && (o.Model == "" || o.PerDevice < 1) {
		err = errors.New("expected a model, and per_device from 1")
	}
	if err != nil {
		err = fault.New(fault.Invalid, "trainer.options: %w", err)
	}
	return o, err
}

// Base checks the model's folder.
func (t *Tool) Base(options json.RawMessage) (domain.BaseModel, string, error) {
	o, err := decode(options)
	if err != nil {
		return domain.BaseModel{}, "", err
	}
	m, err := external.ModelOf(o.Model)
	return m, o.Model, err
}

// Render writes the rows as preference JSONL, the script, and job.json.
func (t *Tool) Render(_ context.Context, f external.Folder, j trainer.Job) (external.Command, error) {
	o, err := decode(j.Options)
	if err != nil {
		return external.Command{}, err
	}
	kinds := f.Start.Kind + f.Reference.Kind
	images := slices.ContainsFunc(j.Pairs, func(p domain.Pair) bool { return p.Image != "" })
	switch {
	case images:
		return external.Command{}, fault.New(fault.Invalid, "the trainer trl takes no screenshots: leave out synthesis.screenshots, or use llamafactory")
	case j.Params.BatchSize%o.PerDevice != 0:
		return external.Command{}, fault.New(fault.Invalid, "a batch of %d rows cannot be made of per_device = %d", j.Params.BatchSize, o.PerDevice)
	case j.Objective != trainer.DPO:
		return external.Command{}, fault.New(fault.Invalid, "the trainer trl knows dpo only: give a base policy as finetune.base, and preference: dpo")
	case strings.Contains(kinds, domain.ArtifactFull):
		return external.Command{}, fault.New(fault.Invalid, "the trainer trl starts from adapters and the base model only")
	case f.Start.Kind == domain.ArtifactLoRA && f.Start.Rank != o.Rank:
		return external.Command{}, fault.New(fault.Invalid, "the policy to start from has rank %d, trainer.options.rank is %d", f.Start.Rank, o.Rank)
	}
	total := j.Steps
	if total == 0 {
		total = max(1, len(j.Pairs)/j.Params.BatchSize) * j.Params.Passes
	}
	files, err := synth.Export([]synth.Set{{Name: "data", System: j.System, Rows: external.Copies(j.Pairs)}})
	if err != nil {
		return external.Command{}, fault.As(fault.Fatal, err)
	}
	job, err := json.Marshal(map[string]any{"model": f.Base.Dir, "adapter": adapter(f.Start), "reference": adapter(f.Reference), "data": filepath.Join(f.Path, "data.jsonl"), "out": f.Out(), "seed": j.Seed % (1 << 31),
		"dtype": o.Precision, "steps": total, "per_device": o.PerDevice, "accumulate": j.Params.BatchSize / o.PerDevice, "learning_rate": j.Params.LearningRate, "final_share": j.Params.FinalShare,
		"warmup_steps": int(j.Params.Warmup * float64(total)), "weight_decay": j.Params.WeightDecay, "beta": j.Params.Beta, "ftx": j.Params.Ftx, "cutoff": o.Cutoff, "save_steps": o.SaveSteps, "rank": o.Rank})
	if err != nil {
		return external.Command{}, fault.As(fault.Fatal, err)
	}
	for name, raw := range map[string][]byte{"data.jsonl": files["data.preference.jsonl"], "train.py": script, "job.json": job} {
		if err := os.WriteFile(filepath.Join(f.Path, name), raw, 0o644); err != nil {
			return external.Command{}, fault.New(fault.Transient, "write the job: %w", err)
		}
	}
	python := t.Python
	if python == "" {
		python = "python3"
	}
	if python, err = exec.LookPath(python); err != nil {
		return external.Command{}, fault.New(fault.Invalid, "this worker has no Python with TRL: set COLLABUI_PYTHON and start it again: %w", err)
	}
	return external.Command{Args: []string{python, filepath.Join(f.Path, "train.py"), filepath.Join(f.Path, "job.json")}, Total: total, Kind: domain.ArtifactLoRA, Rank: o.Rank, Devices: o.Devices, Stall: 30 * time.Minute,
		Versions: func() map[string]string { return external.Versions(python, "trl", "transformers", "peft", "torch") }, Env: []string{"HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "PYTHONUNBUFFERED=1", "HF_DATASETS_CACHE=" + filepath.Join(f.Path, "cache")}}, nil
}

// adapter is a policy's folder; "" is the base model.
func adapter(p external.Local) string {
	if p.Kind == domain.ArtifactBase {
		return ""
	}
	return p.Dir
}

// Points reads the script's progress.
func (t *Tool) Points(f external.Folder) []domain.TrainPoint {
	return hf.Points(f, "progress.jsonl", "step")
}

// Result is there when the script has written its last file.
func (t *Tool) Result(f external.Folder) (map[string]string, map[string]float64, bool) {
	raw, err := os.ReadFile(filepath.Join(f.Out(), "done.json"))
	s, ok := hf.ReadState(f.Out())
	if err != nil || !ok {
		return nil, nil, false
	}
	files, _, err := hf.Policy(f, filepath.Join(f.Out(), "adapter"))
	return files, hf.Metrics(s, raw), err == nil
}

// Alarm has nothing to watch for: the script refuses itself what it would not train on.
func (t *Tool) Alarm(external.Folder, string) error { return nil }

// Explain gives the script's last words: an end by a signal may pass, a failure does not.
func (t *Tool) Explain(tail string, exit error) error {
	kind := fault.Invalid
	var ended *exec.ExitError
	if exit == nil || errors.As(exit, &ended) && !ended.Exited() || bytes.Contains([]byte(tail), []byte("No space left on device")) {
		kind = fault.Transient
	}
	return fault.New(kind, "TRL ended (%v)\n%s", exit, external.Tail(tail))
}
