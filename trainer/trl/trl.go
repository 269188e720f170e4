// Package trl updates adapters with Hugging Face's TRL. It supports DPO and GRPO, with a script of about two
// hundred lines.
// It is also the example of docs/add-a-trainer.md: besides its script, a training program needs a Tool like this one,
// and an entry in workers/catalog.
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
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/hf"
	"github.com/collabui/collabui/trainer/rows"
)

//go:embed train.py
var script []byte

// Files of a job's folder.
const (
	scriptFile = "train.py"
	dataFile   = "data.jsonl"
	jobFile    = "job.json"
)

// stall is the time without a sign of life after which the script counts as hung.
const stall = 30 * time.Minute

// Tool drives the script.
type Tool struct {
	hf.Common
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

	total := job.Steps
	if total == 0 {
		total = max(1, len(job.Pairs)/job.Params.BatchSize) * job.Params.Passes
	}
	if err := write(folder, job, options, total); err != nil {
		return external.Command{}, err
	}

	python, err := t.python()
	if err != nil {
		return external.Command{}, err
	}

	return external.Command{
		Args:    []string{python, filepath.Join(folder.Path, scriptFile), filepath.Join(folder.Path, jobFile)},
		Total:   total,
		Kind:    domain.ArtifactLoRA,
		Rank:    options.Rank,
		Devices: options.Devices, PerDevice: folder.PerDevice(options.PerDevice),
		Stall:    stall,
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

// write writes the files of the job's folder.
func write(folder external.Folder, j trainer.Job, options Options, total int) error {
	job, err := json.Marshal(map[string]any{
		"objective":     j.Objective,
		"model":         folder.Base.Dir,
		"adapter":       adapter(folder.Start),
		"reference":     adapter(folder.Reference),
		"data":          filepath.Join(folder.Path, dataFile),
		"out":           folder.Out(),
		"seed":          j.Seed % (1 << 31),
		"dtype":         options.Precision,
		"steps":         total,
		"per_device":    folder.PerDevice(options.PerDevice),
		"accumulate":    j.Params.BatchSize / folder.PerDevice(options.PerDevice),
		"learning_rate": j.Params.LearningRate,
		"final_share":   j.Params.FinalShare,
		"warmup_steps":  int(j.Params.Warmup * float64(total)),
		"weight_decay":  j.Params.WeightDecay,
		"beta":          j.Params.Beta,
		"smoothing":     j.Params.Smoothing,
		"ftx":           j.Params.Ftx,
		"clip":          j.Params.Clip,
		"kl":            j.Params.KL,
		"cutoff":        options.Cutoff,
		"skip":          j.Skip,
		"save_steps":    options.SaveSteps,
		"rank":          options.Rank,
	})
	if err != nil {
		return fault.As(fault.Fatal, err)
	}

	var data bytes.Buffer
	set := rows.Set{Name: "data", System: j.System, Pairs: external.Copies(j.Pairs)}
	if err := set.Encode(&data, set.File(rows.Preference, false)); err != nil {
		return fault.As(fault.Fatal, err)
	}

	for name, raw := range map[string][]byte{dataFile: data.Bytes(), scriptFile: script, jobFile: job} {
		if err := os.WriteFile(filepath.Join(folder.Path, name), raw, 0o644); err != nil {
			return fault.New(fault.Transient, "write the job: %w", err)
		}
	}

	return nil
}

// adapter returns a policy's folder; "" is the base model.
func adapter(local external.Local) string {
	if local.Kind == domain.ArtifactBase {
		return ""
	}

	return local.Dir
}

// Points reads the script's progress.
func (t *Tool) Points(folder external.Folder) []domain.TrainPoint {
	return hf.Points(folder, "progress.jsonl", "step")
}

// Result returns the adapter once the script has written its last file.
func (t *Tool) Result(folder external.Folder) (map[string]string, map[string]float64, bool) {
	raw, err := os.ReadFile(filepath.Join(folder.Out(), "done.json"))
	state, ok := hf.ReadState(folder.Out())
	if err != nil || !ok {
		return nil, nil, false
	}
	files, _, err := hf.Policy(folder, filepath.Join(folder.Out(), "adapter"))

	return files, hf.Metrics(state, raw), err == nil
}

// Alarm has nothing to watch for: the script itself refuses rows that it cannot train on.
func (t *Tool) Alarm(external.Folder, string) error { return nil }

// Explain returns the script's last lines. An end by a signal, for lack of disk space or by a bad GPU is
// transient; other failures are not.
func (t *Tool) Explain(tail string, exit error) error {
	kind := fault.Invalid
	var ended *exec.ExitError
	killed := errors.As(exit, &ended) && !ended.Exited()
	full := strings.Contains(tail, "No space left on device")
	if exit == nil || killed || full || external.BadDevice.MatchString(tail) {
		kind = fault.Transient
	}

	if external.NoMemory(tail) {
		return fault.New(fault.Invalid, "%w: lower trainer.options.cutoff, or train on a larger device (%v)\n%s",
			external.ErrMemory, exit, external.Tail(tail))
	}

	return fault.New(kind, "TRL ended (%v)\n%s", exit, external.Tail(tail))
}
