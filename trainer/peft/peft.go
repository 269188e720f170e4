// Package peft updates adapters with Hugging Face's PEFT and a training loop of its own: SFT and DPO. With the option
// together, one process trains the adapters of all jobs of a host that have the same base model, which other programs
// cannot: it loads the base once, and the jobs take turns.
package peft

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/hf"
)

//go:embed train.py
var script []byte

// errorFile is where the script notes why it gave a job up.
const errorFile = "error.txt"

// program names the script to people.
const program = "the PEFT script"

// Tool drives the script.
type Tool struct {
	hf.Script
	// Python is an interpreter with torch, transformers and peft; "" means python3.
	Python string
}

var (
	_ external.Tool   = (*Tool)(nil)
	_ external.Scorer = (*Tool)(nil)
)

// Scoring returns how answers are scored: with the script's libraries and the tokenizer's own chat template.
func (t *Tool) Scoring(raw json.RawMessage) (external.Scoring, error) {
	options, err := hf.Decode(raw, DefaultOptions())
	if err != nil {
		return external.Scoring{}, err
	}
	python, err := t.python()

	return hf.Scoring(python, options.Precision, "", options.Devices), err
}

// Render writes the rows, the script, and job.json.
func (t *Tool) Render(_ context.Context, folder external.Folder, job trainer.Job) (external.Command, error) {
	options, err := hf.Decode(job.Options, DefaultOptions())
	if err != nil {
		return external.Command{}, err
	}
	if err := supported(folder, job, options); err != nil {
		return external.Command{}, err
	}

	noted := filepath.Join(folder.Path, errorFile)
	if err := os.Remove(noted); err != nil && !errors.Is(err, os.ErrNotExist) {
		return external.Command{}, fault.New(fault.Transient, "write the job: %w", err)
	}
	err = hf.WriteJob(folder, job, options.ScriptOptions, script, map[string]any{
		"log":        folder.Log(),
		"error":      noted,
		"batch":      job.Params.BatchSize,
		"save_steps": saveSteps(job, options),
		"alpha":      cmp.Or(options.Alpha, 2*options.Rank),
		"target":     options.Target,
	})
	if err != nil {
		return external.Command{}, err
	}
	python, err := t.python()
	if err != nil {
		return external.Command{}, err
	}

	shares := folder.Path // no other job has it
	if options.Together {
		shares = fmt.Sprint(folder.Base.Dir, folder.Base.Base.Digest, options.Precision, options.Devices)
	}

	return external.Command{
		Args:    []string{python, filepath.Join(folder.Path, hf.ScriptFile)},
		Shares:  store.Sum([]byte(shares))[:24],
		Job:     filepath.Join(folder.Path, hf.JobFile),
		Total:   hf.Steps(job),
		Kind:    domain.ArtifactLoRA,
		Rank:    options.Rank,
		Devices: options.Devices, PerDevice: folder.PerDevice(options.PerDevice),
		Stall:    hf.ScriptStall,
		Versions: func() map[string]string { return external.Versions(python, "transformers", "peft", "torch") },
		Env: []string{
			"HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "PYTHONUNBUFFERED=1", "CUBLAS_WORKSPACE_CONFIG=:4096:8",
		},
	}, nil
}

// python returns the path of the interpreter.
func (t *Tool) python() (string, error) { return hf.Python(t.Python, "PEFT") }

// Ready returns an invalid fault if this host has no Python.
func (t *Tool) Ready() error {
	_, err := t.python()

	return err
}

// supported refuses jobs that the script cannot do.
func supported(folder external.Folder, job trainer.Job, options Options) error {
	if job.Objective != trainer.SFT && job.Objective != trainer.DPO {
		return fault.New(fault.Invalid, "the trainer peft supports sft and dpo, not %q", job.Objective)
	}

	return hf.SupportsAdapter("peft", folder, job, options.Rank, options.PerDevice)
}

// saveSteps returns the number of steps between checkpoints. A job that ends early needs one at its last step.
func saveSteps(job trainer.Job, options Options) int {
	if job.Until > 0 && job.Until < hf.Steps(job) {
		return cmp.Or(job.Every, options.SaveSteps)
	}

	return options.SaveSteps
}

// Alarm returns why the script gave the job up. Other jobs of its process continue.
func (t *Tool) Alarm(folder external.Folder, _ string) error {
	raw, err := os.ReadFile(filepath.Join(folder.Path, errorFile))
	if err != nil {
		return nil
	}

	return hf.ExplainEnd(program, string(raw), errors.New("the job failed"))
}

// Explain returns the script's last lines.
func (t *Tool) Explain(tail string, exit error) error { return hf.ExplainEnd(program, tail, exit) }
