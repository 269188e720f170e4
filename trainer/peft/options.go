package peft

import (
	"encoding/json"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/hf"
)

// Options are `trainer.options` of a specification with `trainer.name: peft`.
type Options struct {
	// Model is the folder of the base model, at the same path on every GPU worker.
	Model string `json:"model" yaml:"model"`
	// Together lets the jobs of a worker that have the same base model, precision and devices share one process, which
	// loads the base once. Each has its own adapter and optimiser.
	Together bool `json:"together" yaml:"together"`
	// Rank is the rank of LoRA.
	Rank int `json:"rank" yaml:"rank"`
	// Alpha is the alpha of LoRA; 0 means twice the rank.
	Alpha int `json:"alpha" yaml:"alpha"`
	// Target lists the modules that get LoRA, separated by commas.
	Target string `json:"target" yaml:"target"`
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

// DefaultOptions returns options for a 7B model on one GPU.
func DefaultOptions() Options {
	return Options{
		Rank: 8, Target: "all", Cutoff: 4096, Devices: 1, PerDevice: 1, Precision: "bfloat16", SaveSteps: 20,
	}
}

// BaseModel returns the folder of the base model.
func (o Options) BaseModel() string { return o.Model }

// Check reports which options are impossible. batches are the numbers of rows of an optimiser step.
func (o Options) Check(must trainer.Must, batches ...int) {
	must(o.Model != "", "model", "the folder of the base model on the GPU workers")
	must(o.Rank >= 1, "rank", "a whole number from 1")
	must(o.Alpha >= 0, "alpha", "a whole number from 0")
	must(o.Target != "" && !strings.ContainsAny(o.Target, " \t\n"), "target",
		"all, or modules separated by commas, not %q", o.Target)
	must(o.Cutoff >= 64, "cutoff", "a whole number from 64")
	must(o.Devices == 0 || o.Devices == 1, "devices", "0 or 1, not %d", o.Devices)
	must(o.Precision == "bfloat16" || o.Precision == "float32", "precision",
		"one of [bfloat16 float32], not %q", o.Precision)
	must(o.SaveSteps >= 1, "save_steps", "a whole number from 1")
	must(o.PerDevice >= 1, "per_device", "a whole number from 1")
	for _, b := range batches {
		must(b%max(1, o.PerDevice) == 0, "per_device", "a divisor of the batch of %d rows", b)
	}
}

// Base returns the base model of a job's options and its folder.
func (t *Tool) Base(options json.RawMessage) (domain.BaseModel, string, error) {
	return hf.Base(options, DefaultOptions())
}
