package hf

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/rows"
)

// ScriptOptions are the options that the trainers trl and peft share.
type ScriptOptions struct {
	// Model is the folder of the base model, at the same path on every GPU worker.
	Model string `json:"model" yaml:"model"`
	// Rank is the rank of LoRA.
	Rank int `json:"rank" yaml:"rank"`
	// Cutoff is the maximum number of tokens of prompt and answer together. Longer rows are left out, if they are
	// no more than failed_share allows.
	Cutoff int `json:"cutoff" yaml:"cutoff"`
	// Devices is 1, or 0 for the CPU.
	Devices int `json:"devices" yaml:"devices"`
	// PerDevice is the number of rows that are processed together.
	PerDevice int `json:"per_device" yaml:"per_device"`
	// Precision is bfloat16 or float32.
	Precision string `json:"precision" yaml:"precision"`
	// SaveSteps is the number of optimiser steps between checkpoints.
	SaveSteps int `json:"save_steps" yaml:"save_steps"`
}

// DefaultScriptOptions returns options for a 7B model on one GPU.
func DefaultScriptOptions() ScriptOptions {
	return ScriptOptions{Rank: 8, Cutoff: 4096, Devices: 1, PerDevice: 1, Precision: "bfloat16", SaveSteps: 20}
}

// BaseModel returns the folder of the base model.
func (o ScriptOptions) BaseModel() string { return o.Model }

// Check reports which options are impossible. batches are the numbers of rows of an optimiser step.
func (o ScriptOptions) Check(must trainer.Must, batches ...int) {
	must(o.Model != "", "model", "the folder of the base model on the GPU workers")
	must(o.Rank >= 1, "rank", "a whole number from 1")
	must(o.Cutoff >= 64, "cutoff", "a whole number from 64")
	must(o.Devices == 0 || o.Devices == 1, "devices", "0 or 1, not %d", o.Devices)
	must(o.Precision == "bfloat16" || o.Precision == "float32", "precision",
		"one of bfloat16, float32, not %q", o.Precision)
	must(o.SaveSteps >= 1, "save_steps", "a whole number from 1")
	must(o.PerDevice >= 1, "per_device", "a whole number from 1")
	for _, b := range batches {
		must(b%max(1, o.PerDevice) == 0, "per_device", "a divisor of the batch of %d rows", b)
	}
}

// ScriptStall is the time without a sign of life after which a script counts as hung.
const ScriptStall = 30 * time.Minute

// Files of a script's job, in its folder.
const (
	ScriptFile = "train.py"
	JobFile    = "job.json"
	dataFile   = "data.jsonl"
)

// Script implements the methods of external.Tool that are the same for programs that are a script of ours. Tools embed
// it.
type Script struct{ Common }

// Points reads the script's progress.
func (Script) Points(folder external.Folder) []domain.TrainPoint {
	return Points(folder, "progress.jsonl", "step")
}

// Result returns the adapter once the script has written its last file.
func (Script) Result(folder external.Folder) (map[string]string, map[string]float64, bool) {
	raw, err := os.ReadFile(filepath.Join(folder.Out(), "done.json"))
	state, ok := ReadState(folder.Out())
	if err != nil || !ok {
		return nil, nil, false
	}
	files, _, err := Policy(folder, filepath.Join(folder.Out(), "adapter"))

	return files, Metrics(state, raw), err == nil
}

// Steps returns the number of optimiser steps of a job.
func Steps(job trainer.Job) int {
	if job.Steps > 0 {
		return job.Steps
	}

	return max(1, len(job.Pairs)/job.Params.BatchSize) * job.Params.Passes
}

// WriteJob writes a job's rows, its script, and its settings: those that scripts share, and the script's own.
func WriteJob(
	folder external.Folder, job trainer.Job, options ScriptOptions, script []byte, own map[string]any,
) error {
	total := Steps(job)
	settings := map[string]any{
		"objective":     job.Objective,
		"model":         folder.Base.Dir,
		"adapter":       adapter(folder.Start),
		"reference":     adapter(folder.Reference),
		"data":          filepath.Join(folder.Path, dataFile),
		"out":           folder.Out(),
		"seed":          job.Seed % (1 << 31),
		"dtype":         options.Precision,
		"steps":         total,
		"per_device":    folder.PerDevice(options.PerDevice),
		"learning_rate": job.Params.LearningRate,
		"final_share":   job.Params.FinalShare,
		"warmup_steps":  int(job.Params.Warmup * float64(total)),
		"weight_decay":  job.Params.WeightDecay,
		"beta":          job.Params.Beta,
		"smoothing":     job.Params.Smoothing,
		"ftx":           job.Params.Ftx,
		"cutoff":        options.Cutoff,
		"skip":          job.Skip,
		"save_steps":    options.SaveSteps,
		"rank":          options.Rank,
	}
	maps.Copy(settings, own)
	encoded, err := json.Marshal(settings)
	if err != nil {
		return fault.As(fault.Fatal, err)
	}

	var data bytes.Buffer
	set := rows.Set{Name: "data", System: job.System, Pairs: external.Copies(job.Pairs)}
	if err := set.Encode(&data, set.File(rows.Preference, false)); err != nil {
		return fault.As(fault.Fatal, err)
	}
	for name, raw := range map[string][]byte{dataFile: data.Bytes(), ScriptFile: script, JobFile: encoded} {
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

// ExplainEnd turns the last lines of a program into an error. An end by a signal, for lack of disk space or by a bad
// GPU is transient; other failures are not.
func ExplainEnd(program, tail string, exit error) error {
	if external.NoMemory(tail) {
		return fault.New(fault.Invalid, "%w: lower trainer.options.cutoff, or train on a larger device (%v)\n%s",
			external.ErrMemory, exit, external.Tail(tail))
	}
	kind := fault.Invalid
	var ended *exec.ExitError
	killed := errors.As(exit, &ended) && !ended.Exited()
	full := strings.Contains(tail, "No space left on device")
	if exit == nil || killed || full || external.BadDevice.MatchString(tail) {
		kind = fault.Transient
	}

	return fault.New(kind, "%s ended (%v)\n%s", program, exit, external.Tail(tail))
}
