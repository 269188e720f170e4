// Package peft updates adapters with Hugging Face's PEFT and a training loop of its own: SFT and DPO. With the option
// together, one process trains the adapters of all jobs of a host that have the same base model, which other programs
// cannot: it loads the base once, and the jobs take turns.
package peft

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
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
	errorFile  = "error.txt" // why the script gave the job up
)

// stall is the time without a sign of life after which a job counts as hung.
const stall = 30 * time.Minute

// Tool drives the script.
type Tool struct {
	hf.Common
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

	shares := folder.Path // no other job has it
	if options.Together {
		shares = fmt.Sprint(folder.Base.Dir, folder.Base.Base.Digest, options.Precision, options.Devices)
	}

	return external.Command{
		Args:    []string{python, filepath.Join(folder.Path, scriptFile)},
		Shares:  store.Sum([]byte(shares))[:24],
		Job:     filepath.Join(folder.Path, jobFile),
		Total:   total,
		Kind:    domain.ArtifactLoRA,
		Rank:    options.Rank,
		Devices: options.Devices, PerDevice: folder.PerDevice(options.PerDevice),
		Stall:    stall,
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

// write writes the files of the job's folder.
func write(folder external.Folder, j trainer.Job, options Options, total int) error {
	job, err := json.Marshal(map[string]any{
		"objective":     j.Objective,
		"model":         folder.Base.Dir,
		"adapter":       adapter(folder.Start),
		"reference":     adapter(folder.Reference),
		"data":          filepath.Join(folder.Path, dataFile),
		"out":           folder.Out(),
		"log":           folder.Log(),
		"error":         filepath.Join(folder.Path, errorFile),
		"seed":          j.Seed % (1 << 31),
		"dtype":         options.Precision,
		"steps":         total,
		"batch":         j.Params.BatchSize,
		"per_device":    folder.PerDevice(options.PerDevice),
		"learning_rate": j.Params.LearningRate,
		"final_share":   j.Params.FinalShare,
		"warmup_steps":  int(j.Params.Warmup * float64(total)),
		"weight_decay":  j.Params.WeightDecay,
		"beta":          j.Params.Beta,
		"smoothing":     j.Params.Smoothing,
		"ftx":           j.Params.Ftx,
		"cutoff":        options.Cutoff,
		"skip":          j.Skip,
		"save_steps":    saveSteps(j, options, total),
		"rank":          options.Rank,
		"alpha":         cmp.Or(options.Alpha, 2*options.Rank),
		"target":        options.Target,
	})
	if err != nil {
		return fault.As(fault.Fatal, err)
	}

	var data bytes.Buffer
	set := rows.Set{Name: "data", System: j.System, Pairs: external.Copies(j.Pairs)}
	if err := set.Encode(&data, set.File(rows.Preference, false)); err != nil {
		return fault.As(fault.Fatal, err)
	}
	if err := os.Remove(filepath.Join(folder.Path, errorFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fault.New(fault.Transient, "write the job: %w", err)
	}
	for name, raw := range map[string][]byte{dataFile: data.Bytes(), scriptFile: script, jobFile: job} {
		if err := os.WriteFile(filepath.Join(folder.Path, name), raw, 0o644); err != nil {
			return fault.New(fault.Transient, "write the job: %w", err)
		}
	}

	return nil
}

// saveSteps returns the number of steps between checkpoints. A job that ends early needs one at its last step.
func saveSteps(job trainer.Job, options Options, total int) int {
	if job.Until > 0 && job.Until < total {
		return cmp.Or(job.Every, options.SaveSteps)
	}

	return options.SaveSteps
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

// Alarm returns why the script gave the job up. Other jobs of its process continue.
func (t *Tool) Alarm(folder external.Folder, _ string) error {
	raw, err := os.ReadFile(filepath.Join(folder.Path, errorFile))
	if err != nil {
		return nil
	}

	return explain(string(raw), fault.Invalid, errors.New("the job failed"))
}

// Explain returns the script's last lines. An end by a signal, for lack of disk space or by a bad GPU is transient;
// other failures are not.
func (t *Tool) Explain(tail string, exit error) error {
	var ended *exec.ExitError
	if exit == nil || errors.As(exit, &ended) && !ended.Exited() {
		return explain(tail, fault.Transient, exit)
	}

	return explain(tail, fault.Invalid, exit)
}

// explain turns what the script wrote into an error of a kind, unless what it wrote shows another one.
func explain(said string, kind fault.Kind, exit error) error {
	switch {
	case external.NoMemory(said):
		return fault.New(fault.Invalid, "%w: lower trainer.options.cutoff, or train on a larger device (%v)\n%s",
			external.ErrMemory, exit, external.Tail(said))
	case strings.Contains(said, "No space left on device") || external.BadDevice.MatchString(said):
		kind = fault.Transient
	}

	return fault.New(kind, "the PEFT script ended (%v)\n%s", exit, external.Tail(said))
}
