// Package llamafactory updates language models with `llamafactory-cli train`: SFT and DPO, LoRA adapters or all parameters (TRAINERS.md section 4). It renders data and
// configuration, reads progress and results, and explains failures; trainer/external runs it.
package llamafactory

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/collabui/collabui/fault"
)

// Options are `trainer.options` of a specification with `trainer.name: llamafactory`. Rates, batch and passes are those of `train` and `finetune`.
type Options struct {
	Model      string            `json:"model" yaml:"model"`           // folder of the base model, the same path on every GPU worker
	Template   string            `json:"template" yaml:"template"`     // the program's name of the chat template: qwen, llama3, qwen2_vl …
	Finetuning string            `json:"finetuning" yaml:"finetuning"` // lora: an adapter | full: all parameters
	Rank       int               `json:"rank" yaml:"rank"`             // of LoRA
	Alpha      int               `json:"alpha" yaml:"alpha"`           // of LoRA; 0: twice the rank
	Dropout    float64           `json:"dropout" yaml:"dropout"`       // of LoRA
	Target     string            `json:"target" yaml:"target"`         // modules that get LoRA, separated by commas
	Cutoff     int               `json:"cutoff" yaml:"cutoff"`         // tokens of prompt and answer together; a longer row is refused
	Devices    int               `json:"devices" yaml:"devices"`       // GPUs of one update; 0: the CPU
	PerDevice  int               `json:"per_device" yaml:"per_device"` // rows at once on a device; batch_size ÷ (per_device × devices) are accumulated
	Precision  string            `json:"precision" yaml:"precision"`   // bf16 | fp16 | fp32
	DeepSpeed  string            `json:"deepspeed" yaml:"deepspeed"`   // file with DeepSpeed's configuration on the GPU workers; empty: none
	SaveSteps  int               `json:"save_steps" yaml:"save_steps"` // optimiser steps between checkpoints
	Pixels     int               `json:"pixels" yaml:"pixels"`         // at most, of one screenshot
	Stall      float64           `json:"stall" yaml:"stall"`           // minutes without a sign of life after which the program counts as hung
	Extra      map[string]string `json:"extra,omitempty" yaml:"extra"` // further keys of the program, as they are: flash_attn: fa2
}

// DefaultOptions are those of a 7B model on one GPU of 80 GB.
func DefaultOptions() Options {
	return Options{Template: "qwen", Finetuning: "lora", Rank: 8, Target: "all", Cutoff: 4096, Devices: 1, PerDevice: 1, Precision: "bf16", SaveSteps: 20, Pixels: 262144, Stall: 30}
}

// maxAlpha and the other bounds keep typing errors out, no more.
const (
	maxRank   = 512
	maxTokens = 1 << 20
)

// Check says which options are impossible: field and what was expected. batch is the number of rows of an optimiser step.
func (o Options) Check(must func(ok bool, field, expected string, args ...any), batches ...int) {
	must(o.Model != "" && !strings.ContainsAny(o.Model, " \t\n"), "model", "the folder of the base model on the GPU workers, without blanks (torchrun splits at them), not %q", o.Model)
	must(o.Template != "", "template", "a chat template's name, for example qwen")
	must(o.Finetuning == "lora" || o.Finetuning == "full", "finetuning", "one of [lora full], not %q", o.Finetuning)
	must(o.Rank >= 1 && o.Rank <= maxRank, "rank", "a whole number from 1 to %d, not %d", maxRank, o.Rank)
	must(o.Alpha >= 0, "alpha", "a whole number from 0")
	must(o.Dropout >= 0 && o.Dropout < 1, "dropout", "a number from 0 to below 1")
	must(o.Target != "", "target", "all, or modules separated by commas")
	must(o.Cutoff >= 64 && o.Cutoff <= maxTokens, "cutoff", "a whole number from 64 to %d, not %d", maxTokens, o.Cutoff)
	must(o.Devices >= 0 && o.Devices <= 64, "devices", "a whole number from 0 to 64, not %d", o.Devices)
	must(o.PerDevice >= 1, "per_device", "a whole number from 1")
	must(slices.Contains([]string{"bf16", "fp16", "fp32"}, o.Precision), "precision", "one of [bf16 fp16 fp32], not %q", o.Precision)
	must(o.DeepSpeed == "" || o.Devices > 0, "deepspeed", "no file where devices is 0")
	must(o.SaveSteps >= 1, "save_steps", "a whole number from 1")
	must(o.Pixels >= 1024, "pixels", "a whole number from 1024")
	must(o.Stall > 0, "stall", "minutes above 0")
	for _, b := range batches {
		at := o.PerDevice * max(1, o.Devices)
		must(b%max(1, at) == 0, "per_device", "per_device × devices (%d) to divide the batch of %d rows", at, b)
	}
	for k := range o.Extra {
		must(!slices.Contains(ours, k), "extra."+k, "a key that collabui does not set itself")
	}
}

// ours are the keys that Render writes.
var ours = []string{"model_name_or_path", "stage", "do_train", "finetuning_type", "lora_rank", "lora_alpha", "lora_dropout", "lora_target", "dataset_dir", "media_dir", "dataset", "template", "cutoff_len",
	"output_dir", "logging_steps", "save_steps", "save_strategy", "save_only_model", "overwrite_output_dir", "resume_from_checkpoint", "report_to", "per_device_train_batch_size", "gradient_accumulation_steps", "learning_rate",
	"num_train_epochs", "max_steps", "lr_scheduler_type", "lr_scheduler_kwargs", "warmup_ratio", "warmup_steps", "weight_decay", "bf16", "fp16", "seed", "data_seed", "pref_beta", "pref_loss", "pref_ftx",
	"adapter_name_or_path", "create_new_adapter", "ref_model", "ref_model_adapters", "deepspeed", "overwrite_cache", "logging_nan_inf_filter", "save_total_limit", "image_max_pixels", "max_samples", "val_size"}

// decode reads the options of a job.
func decode(raw json.RawMessage) (Options, error) {
	o := DefaultOptions()
	if err := json.Unmarshal(raw, &o); err != nil {
		return o, fault.New(fault.Invalid, "trainer.options: %w", err)
	}
	var err error
	o.Check(func(ok bool, field, expected string, args ...any) {
		if !ok && err == nil {
			err = fault.New(fault.Invalid, "trainer.options.%s: expected %s", field, fmt.Sprintf(expected, args...))
		}
	})
	return o, err
}
