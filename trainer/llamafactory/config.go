package llamafactory

import (
	"cmp"
	"path/filepath"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/yamldoc"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
)

// configuration returns the keys of the program's configuration.
func configuration(
	folder external.Folder, job trainer.Job, options Options, dataset string, total int,
) (map[string]any, error) {
	keys := common(folder, job, options, dataset, total)
	if options.Finetuning == lora {
		keys["lora_rank"] = options.Rank
		keys["lora_dropout"] = options.Dropout
		keys["lora_target"] = options.Target
		keys["lora_alpha"] = options.Alpha
		if options.Alpha == 0 {
			keys["lora_alpha"] = 2 * options.Rank
		}
	}
	if options.DeepSpeed != "" {
		file, err := deepSpeed(folder, options)
		if err != nil {
			return nil, err
		}
		keys["deepspeed"] = file
	}
	for key, value := range options.Extra {
		x, err := yamldoc.Value(value)
		if err != nil {
			return nil, fault.New(fault.Invalid, "trainer.options.extra.%s: %w", key, err)
		}
		keys[key] = x
	}

	if err := begin(keys, folder, options); err != nil {
		return nil, err
	}
	if job.Objective == trainer.DPO {
		keys["pref_loss"], keys["pref_beta"], keys["pref_ftx"] = "sigmoid", job.Params.Beta, job.Params.Ftx
		keys["dpo_label_smoothing"] = job.Params.Smoothing

		return keys, reference(keys, folder, options)
	}

	return keys, nil
}

// deepSpeed returns the file of DeepSpeed's configuration. The operator of the worker puts it there: one among
// downloaded policies, which others write, is an invalid fault.
func deepSpeed(folder external.Folder, options Options) (string, error) {
	file, err := filepath.EvalSymlinks(options.DeepSpeed)
	if err != nil {
		return "", fault.New(fault.Invalid,
			"trainer.options.deepspeed: %w; the file must exist on every GPU worker", err)
	}
	work, err := filepath.EvalSymlinks(filepath.Dir(filepath.Dir(folder.Path)))
	if err != nil {
		return "", fault.As(fault.Transient, err)
	}
	if path, err := filepath.Rel(work, file); err != nil || filepath.IsLocal(path) {
		return "", fault.New(fault.Invalid, "trainer.options.deepspeed: expected a file outside of the worker's "+
			"folder %s, not %s: put it elsewhere on every GPU worker", work, options.DeepSpeed)
	}

	return file, nil
}

// pixelsOf returns the maximum number of pixels of a job's pictures.
func pixelsOf(job trainer.Job) int { return cmp.Or(job.Pixels, 262144) }

// common returns the keys that every job has.
func common(folder external.Folder, job trainer.Job, options Options, dataset string, total int) map[string]any {
	data := filepath.Join(folder.Path, dataDir)
	seed := int(job.Seed % (1 << 31))
	perDevice := folder.PerDevice(options.PerDevice)
	config := map[string]any{
		"model_name_or_path": folder.Base.Dir,
		"trust_remote_code":  false,
		"stage":              string(job.Objective),
		"do_train":           true,
		"finetuning_type":    options.Finetuning,
		"template":           options.Template,

		"dataset_dir":      data,
		"media_dir":        data,
		"dataset":          dataset,
		"cutoff_len":       options.Cutoff,
		"overwrite_cache":  true,
		"image_max_pixels": pixelsOf(job),

		"output_dir":           folder.Out(),
		"logging_steps":        1,
		"save_strategy":        "steps",
		"save_steps":           options.SaveSteps,
		"save_total_limit":     3,
		"save_only_model":      false,
		"overwrite_output_dir": false,
		"report_to":            "none",

		"per_device_train_batch_size": perDevice,
		"gradient_accumulation_steps": job.Params.BatchSize / (perDevice * max(1, options.Devices)),
		"learning_rate":               job.Params.LearningRate,
		"max_steps":                   total,
		"warmup_steps":                int(job.Params.Warmup * float64(total)),
		"weight_decay":                job.Params.WeightDecay,
		"lr_scheduler_type":           "cosine_with_min_lr",
		"lr_scheduler_kwargs":         map[string]any{"min_lr_rate": job.Params.FinalShare},
		"bf16":                        options.Precision == "bf16",
		"fp16":                        options.Precision == "fp16",
		"seed":                        seed,
		"data_seed":                   seed,

		"logging_nan_inf_filter":        false,
		"include_num_input_tokens_seen": true,
		"ddp_timeout":                   180000000,
	}
	if options.Devices == 0 {
		config["use_cpu"] = true // without it, bf16 is refused on a machine without a GPU
	}
	if job.Until > 0 && job.Until < total {
		config["save_steps"] = cmp.Or(job.Every, options.SaveSteps)
		delete(config, "save_total_limit") // The checkpoint of that step must still exist at the next look.
	}
	if job.Params.FinalShare == 1 {
		config["lr_scheduler_type"] = "constant_with_warmup"
		delete(config, "lr_scheduler_kwargs")
	}

	return config
}

// begin sets what the update starts from.
func begin(config map[string]any, folder external.Folder, options Options) error {
	switch {
	case folder.Start.Kind == domain.ArtifactLoRA && options.Finetuning == lora:
		if folder.Start.Rank != options.Rank {
			return fault.New(fault.Invalid, "the policy to start from has rank %d, trainer.options.rank is %d: "+
				"an adapter keeps its rank", folder.Start.Rank, options.Rank)
		}
		config["adapter_name_or_path"] = folder.Start.Dir
	case folder.Start.Kind == domain.ArtifactLoRA:
		return fault.New(fault.Invalid, "all parameters cannot be trained from an adapter: "+
			"merge it first (see `collabui export`), and set trainer.options.model to the result")
	case folder.Start.Kind == domain.ArtifactFull && options.Finetuning == full:
		config["model_name_or_path"] = folder.Start.Dir
	case folder.Start.Kind == domain.ArtifactFull:
		return fault.New(fault.Invalid, "an adapter cannot start from a policy with all parameters: "+
			"export it, and set trainer.options.model to its folder")
	}

	return nil
}

// reference sets the reference policy of DPO. Without one, the program takes the model with its adapter switched off,
// which is right only for the base model. A reference that the program cannot use is an invalid fault.
func reference(config map[string]any, folder external.Folder, options Options) error {
	if options.Finetuning == lora && folder.Reference.Kind == domain.ArtifactBase {
		return nil // The model with its adapter switched off is the base model.
	}

	config["ref_model"] = folder.Base.Dir
	switch folder.Reference.Kind {
	case domain.ArtifactLoRA:
		config["ref_model_adapters"] = folder.Reference.Dir
	case domain.ArtifactFull:
		if options.Finetuning != full {
			return fault.New(fault.Invalid, "the reference has all parameters, the policy is an adapter "+
				"on another model: export the reference, and set trainer.options.model to its folder")
		}
		config["ref_model"] = folder.Reference.Dir
	}
	if bits, ok := config["quantization_bit"]; ok && config["ref_model_quantization_bit"] == nil {
		config["ref_model_quantization_bit"] = bits // Otherwise policy and reference differ before the first step.
	}

	return nil
}
