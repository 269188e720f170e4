package llamafactory

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/method/yamldoc"
	"github.com/collabui/collabui/trainer"
)

// usual are the keys of the program that a specification may set: they change the speed of an update, the memory that
// it needs, or the optimiser. None of them names a file, an address or code.
var usual = []string{
	"adam_beta1", "adam_beta2", "adam_epsilon", "dataloader_num_workers", "dataloader_persistent_workers",
	"dataloader_pin_memory", "dataloader_prefetch_factor", "ddp_find_unused_parameters",
	"disable_gradient_checkpointing", "double_quantization", "enable_liger_kernel", "flash_attn", "fp8", "fp8_backend",
	"group_by_length", "loraplus_lr_ratio", "low_cpu_mem_usage", "max_grad_norm", "neftune_noise_alpha", "optim",
	"preprocessing_batch_size", "preprocessing_num_workers", "pure_bf16", "quantization_bit", "quantization_method",
	"quantization_type", "ref_model_quantization_bit", "tf32", "torch_compile", "torch_empty_cache_steps",
	"train_sampling_strategy", "upcast_layernorm", "upcast_lmhead_output", "use_adam_mini", "use_liger_kernel",
	"use_muon", "use_reentrant_gc", "use_rslora", "use_unsloth", "use_unsloth_gc",
}

// reserved are the keys that Render sets, or that would change what it sets. No operator can list them.
var reserved = []string{
	"adapter_name_or_path", "auto_find_batch_size",
	"bf16", "create_new_adapter", "cutoff_len", "data_seed", "dataset", "dataset_dir",
	"deepspeed", "do_train", "dpo_label_smoothing", "finetuning_type",
	"fp16", "gradient_accumulation_steps", "image_max_pixels",
	"learning_rate", "logging_nan_inf_filter", "logging_steps", "lora_alpha", "lora_dropout", "lora_rank",
	"lora_target", "lr_scheduler_kwargs", "lr_scheduler_type", "max_samples", "max_steps", "media_dir",
	"model_name_or_path", "num_train_epochs", "output_dir", "overwrite_cache", "overwrite_output_dir",
	"per_device_train_batch_size", "pref_beta", "pref_ftx", "pref_loss", "ref_model", "ref_model_adapters",
	"report_to", "resume_from_checkpoint", "save_only_model", "save_steps", "save_strategy", "save_total_limit",
	"seed", "stage", "template", "use_cpu", "val_size", "warmup_ratio", "warmup_steps", "weight_decay",
}

// word matches the texts that a usual key may have: none is a path or an address.
var word = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// checkExtra reports the further keys that a specification may not set. A worker, whose operator may list more of
// them, and people who start a run look at the variable of their own environment.
func checkExtra(extra map[string]string, must trainer.Must) {
	listed := config.TrainerOptions()
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		field := "extra." + key
		switch {
		case slices.Contains(reserved, key):
			must(false, field, "a key that collabui does not set itself")
		case slices.Contains(usual, key):
			must(plain(extra[key]), field,
				"a number, true, false, or a word of at most 64 letters, digits and _.-, not %q", extra[key])
		default:
			must(slices.Contains(listed, key), field, "one of %s, not %q: remove it, or have the operators of the "+
				"workers list it in %s, which is set where runs are started, too", strings.Join(usual, ", "), key,
				config.EnvTrainerOptions)
		}
	}
}

// plain reports whether a text is a number, true, false or a word.
func plain(text string) bool {
	value, err := yamldoc.Value(text)
	if err != nil {
		return false
	}
	switch v := value.(type) {
	case bool, int, float64:
		return true
	case string:
		return word.MatchString(v)
	}

	return false
}
