// Package trl updates adapters with Hugging Face's TRL. It supports DPO and GRPO, with a script of about two
// hundred lines.
// It is also the example of docs/add-a-trainer.md: besides its script, a training program needs a Tool like this one,
// and an entry in workers/catalog.
package trl

import (
	"context"
	_ "embed"
	"encoding/json"
	"path/filepath"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/hf"
)

//go:embed train.py
var script []byte

// Tool drives the script.
type Tool struct {
	hf.Script
	// Python is an interpreter with torch, transformers, peft, datasets and trl; "" means python3.
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

	err = hf.WriteJob(folder, job, options, script, map[string]any{
		"accumulate": job.Params.BatchSize / folder.PerDevice(options.PerDevice),
		"clip":       job.Params.Clip,
		"kl":         job.Params.KL,
	})
	if err != nil {
		return external.Command{}, err
	}
	python, err := t.python()
	if err != nil {
		return external.Command{}, err
	}

	return external.Command{
		Args:    []string{python, filepath.Join(folder.Path, hf.ScriptFile), filepath.Join(folder.Path, hf.JobFile)},
		Total:   hf.Steps(job),
		Kind:    domain.ArtifactLoRA,
		Rank:    options.Rank,
		Devices: options.Devices, PerDevice: folder.PerDevice(options.PerDevice),
		Stall:    hf.ScriptStall,
		Versions: func() map[string]string { return external.Versions(python, "trl", "transformers", "peft", "torch") },
		Env:      hf.Env(folder),
	}, nil
}

// python returns the path of the interpreter.
func (t *Tool) python() (string, error) { return hf.Python(t.Python, "TRL") }

// Ready returns an invalid fault if this host has no Python.
func (t *Tool) Ready() error {
	_, err := t.python()

	return err
}

// supported refuses jobs that the script cannot do.
func supported(folder external.Folder, job trainer.Job, options Options) error {
	if job.Objective != trainer.DPO && job.Objective != trainer.GRPO {
		return fault.New(fault.Invalid, "the trainer trl supports only dpo and grpo: set finetune.base to a base "+
			"policy, and preference to one of them")
	}

	return hf.SupportsAdapter("trl", folder, job, options.Rank, options.PerDevice)
}

// Alarm has nothing to watch for: the script itself refuses rows that it cannot train on.
func (t *Tool) Alarm(external.Folder, string) error { return nil }

// Explain returns the script's last lines.
func (t *Tool) Explain(tail string, exit error) error { return hf.ExplainEnd("TRL", tail, exit) }
