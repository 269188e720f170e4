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
	o.shared().Check(must, batches...)
	must(o.Alpha >= 0, "alpha", "a whole number from 0")
	must(o.Target != "" && !strings.ContainsAny(o.Target, " \t\n"), "target",
		"all, or modules separated by commas, not %q", o.Target)
}

// shared returns the options that other scripts have, too.
func (o Options) shared() hf.ScriptOptions {
	return hf.ScriptOptions{
		Model: o.Model, Rank: o.Rank, Cutoff: o.Cutoff, Devices: o.Devices, PerDevice: o.PerDevice,
		Precision: o.Precision, SaveSteps: o.SaveSteps,
	}
}

// Base returns the base model of a job's options and its folder.
func (t *Tool) Base(options json.RawMessage) (domain.BaseModel, string, error) {
	return hf.Base(options, DefaultOptions())
}
