package llamafactory

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/collabui/collabui/trainer"
)

// Values of Options.Finetuning.
const (
	lora = "lora" // trains an adapter
	full = "full" // trains all parameters
)

// Options are `trainer.options` of a specification with `trainer.name: llamafactory`. Rates, batch and passes are those
// of `train` and `finetune`.
type Options struct {
	// Model is the folder of the base model, at the same path on every GPU worker.
	Model string `json:"model" yaml:"model"`
	// Template is the program's name of the chat template: qwen, llama3, qwen2_vl and so on.
	Template string `json:"template" yaml:"template"`
	// Finetuning is lora for an adapter, or full for all parameters.
	Finetuning string `json:"finetuning" yaml:"finetuning"`
	// Rank is the rank of LoRA.
	Rank int `json:"rank" yaml:"rank"`
	// Alpha is the alpha of LoRA; 0 means twice the rank.
	Alpha int `json:"alpha" yaml:"alpha"`
	// Dropout is the dropout of LoRA.
	Dropout float64 `json:"dropout" yaml:"dropout"`
	// Target lists the modules that get LoRA, separated by commas.
	Target string `json:"target" yaml:"target"`
	// Cutoff is the maximum number of tokens of prompt and answer together. Longer rows are left out, if they are
	// no more than failed_share allows.
	Cutoff int `json:"cutoff" yaml:"cutoff"`
	// Devices is the number of GPUs of one update; 0 means the CPU.
	Devices int `json:"devices" yaml:"devices"`
	// PerDevice is the number of rows that a device processes together. batch_size ÷ (per_device × devices) passes
	// are accumulated.
	PerDevice int `json:"per_device" yaml:"per_device"`
	// Precision is bf16, fp16 or fp32.
	Precision string `json:"precision" yaml:"precision"`
	// DeepSpeed is the file of DeepSpeed's configuration on the GPU workers; "" means none.
	DeepSpeed string `json:"deepspeed" yaml:"deepspeed"`
	// SaveSteps is the number of optimiser steps between checkpoints.
	SaveSteps int `json:"save_steps" yaml:"save_steps"`
	// Stall is the number of minutes without a sign of life after which the program counts as hung.
	Stall float64 `json:"stall" yaml:"stall"`
	// Extra holds further keys of the program, for example flash_attn: fa2: those that change speed, memory and
	// optimiser, and those that the operator of the worker lists.
	Extra map[string]string `json:"extra,omitempty" yaml:"extra"`
}

// DefaultOptions returns options for a 7B model on one GPU of 80 GB.
func DefaultOptions() Options {
	return Options{
		Template:   "qwen",
		Finetuning: lora,
		Rank:       8,
		Target:     "all",
		Cutoff:     4096,
		Devices:    1,
		PerDevice:  1,
		Precision:  "bf16",
		SaveSteps:  20,
		Stall:      30,
	}
}

// BaseModel returns the folder of the base model.
func (o Options) BaseModel() string { return o.Model }

// Bounds that catch typing errors.
const (
	maxRank   = 512
	maxTokens = 1 << 20
)

// Check reports which options are impossible. batches are the numbers of rows of an optimiser step.
func (o Options) Check(must trainer.Must, batches ...int) {
	must(o.Model != "" && !strings.ContainsAny(o.Model, " \t\n"), "model",
		"the folder of the base model on the GPU workers, without blanks (torchrun splits at them), not %q", o.Model)
	must(o.Template != "", "template", "a chat template's name, for example qwen")
	must(o.Finetuning == lora || o.Finetuning == full, "finetuning", "one of lora, full, not %q", o.Finetuning)
	must(o.Rank >= 1 && o.Rank <= maxRank, "rank", "a whole number from 1 to %d, not %d", maxRank, o.Rank)
	must(o.Alpha >= 0, "alpha", "a whole number from 0")
	must(o.Dropout >= 0 && o.Dropout < 1, "dropout", "a number from 0 to below 1")
	must(o.Target != "", "target", "all, or modules separated by commas")
	must(o.Cutoff >= 64 && o.Cutoff <= maxTokens, "cutoff",
		"a whole number from 64 to %d, not %d", maxTokens, o.Cutoff)
	must(o.Devices >= 0 && o.Devices <= 64, "devices", "a whole number from 0 to 64, not %d", o.Devices)
	must(o.PerDevice >= 1, "per_device", "a whole number from 1")
	must(slices.Contains([]string{"bf16", "fp16", "fp32"}, o.Precision), "precision",
		"one of bf16, fp16, fp32, not %q", o.Precision)
	must(o.DeepSpeed == "" || o.Devices > 0, "deepspeed", "no file if devices is 0")
	must(o.DeepSpeed == "" || filepath.IsAbs(o.DeepSpeed), "deepspeed",
		"the absolute path of a file on the GPU workers, not %q", o.DeepSpeed)
	must(o.SaveSteps >= 1, "save_steps", "a whole number from 1")
	must(o.Stall > 0, "stall", "minutes above 0")

	at := o.PerDevice * max(1, o.Devices)
	for _, b := range batches {
		must(b%max(1, at) == 0, "per_device", "per_device × devices (%d) to divide the batch of %d rows", at, b)
	}
	checkExtra(o.Extra, must)
}
