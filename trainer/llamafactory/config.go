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
func configuration(f external.Folder, j trainer.Job, o Options, dataset string, total int) (map[string]any, error) {
	c := common(f, j, o, dataset, total)
	if o.Finetuning == lora {
		c["lora_rank"], c["lora_dropout"], c["lora_target"], c["lora_alpha"] = o.Rank, o.Dropout, o.Target, o.Alpha
		if o.Alpha == 0 {
			c["lora_alpha"] = 2 * o.Rank
		}
	}
	if o.DeepSpeed != "" {
		file, err := deepSpeed(f, o)
		if err != nil {
			return nil, err
		}
		c["deepspeed"] = file
	}
	for k, v := range o.Extra {
		x, err := yamldoc.Value(v)
		if err != nil {
			return nil, fault.New(fault.Invalid, "trainer.options.extra.%s: %w", k, err)
		}
		c[k] = x
	}

	if err := begin(c, f, o); err != nil {
		return nil, err
	}
	if j.Objective == trainer.DPO {
		c["pref_loss"], c["pref_beta"], c["pref_ftx"] = "sigmoid", j.Params.Beta, j.Params.Ftx
		c["dpo_label_smoothing"] = j.Params.Smoothing

		return c, reference(c, f, o)
	}

	return c, nil
}

// deepSpeed returns the file of DeepSpeed's configuration. The operator of the worker puts it there: one among
// downloaded policies, which others write, is an invalid fault.
func deepSpeed(f external.Folder, o Options) (string, error) {
	file, err := filepath.EvalSymlinks(o.DeepSpeed)
	if err != nil {
		return "", fault.New(fault.Invalid,
			"trainer.options.deepspeed: %w; the file must exist on every GPU worker", err)
	}
	work, err := filepath.EvalSymlinks(filepath.Dir(filepath.Dir(f.Path)))
	if err != nil {
		return "", fault.As(fault.Transient, err)
	}
	if path, err := filepath.Rel(work, file); err != nil || filepath.IsLocal(path) {
		return "", fault.New(fault.Invalid, "trainer.options.deepspeed: expected a file outside of the worker's "+
			"folder %s, not %s: put it elsewhere on every GPU worker", work, o.DeepSpeed)
	}

	return file, nil
}

// common returns the keys that every job has.
func common(f external.Folder, j trainer.Job, o Options, dataset string, total int) map[string]any {
	data := filepath.Join(f.Path, dataDir)
	seed := int(j.Seed % (1 << 31))
	c := map[string]any{
		"model_name_or_path": f.Base.Dir,
		"trust_remote_code":  false,
		"stage":              string(j.Objective),
		"do_train":           true,
		"finetuning_type":    o.Finetuning,
		"template":           o.Template,

		"dataset_dir":      data,
		"media_dir":        data,
		"dataset":          dataset,
		"cutoff_len":       o.Cutoff,
		"overwrite_cache":  true,
		"image_max_pixels": o.Pixels,

		"output_dir":           f.Out(),
		"logging_steps":        1,
		"save_strategy":        "steps",
		"save_steps":           o.SaveSteps,
		"save_total_limit":     3,
		"save_only_model":      false,
		"overwrite_output_dir": false,
		"report_to":            "none",

		"per_device_train_batch_size": f.PerDevice(o.PerDevice),
		"gradient_accumulation_steps": j.Params.BatchSize / (f.PerDevice(o.PerDevice) * max(1, o.Devices)),
		"learning_rate":               j.Params.LearningRate,
		"max_steps":                   total,
		"warmup_steps":                int(j.Params.Warmup * float64(total)),
		"weight_decay":                j.Params.WeightDecay,
		"lr_scheduler_type":           "cosine_with_min_lr",
		"lr_scheduler_kwargs":         map[string]any{"min_lr_rate": j.Params.FinalShare},
		"bf16":                        o.Precision == "bf16",
		"fp16":                        o.Precision == "fp16",
		"seed":                        seed,
		"data_seed":                   seed,

		"logging_nan_inf_filter":        false,
		"include_num_input_tokens_seen": true,
		"ddp_timeout":                   180000000,
	}
	if j.Until > 0 && j.Until < total {
		c["save_steps"] = cmp.Or(j.Every, o.SaveSteps)
		delete(c, "save_total_limit") // The checkpoint of that step must still exist at the next look.
	}
	if j.Params.FinalShare == 1 {
		c["lr_scheduler_type"] = "constant_with_warmup"
		delete(c, "lr_scheduler_kwargs")
	}

	return c
}

// begin sets what the update starts from.
func begin(c map[string]any, f external.Folder, o Options) error {
	switch {
	case f.Start.Kind == domain.ArtifactLoRA && o.Finetuning == lora:
		if f.Start.Rank != o.Rank {
			return fault.New(fault.Invalid, "the policy to start from has rank %d, trainer.options.rank is %d: "+
				"an adapter keeps its rank", f.Start.Rank, o.Rank)
		}
		c["adapter_name_or_path"] = f.Start.Dir
	case f.Start.Kind == domain.ArtifactLoRA:
		return fault.New(fault.Invalid, "all parameters cannot be trained from an adapter: "+
			"merge it first (see `collabui export`), and set trainer.options.model to the result")
	case f.Start.Kind == domain.ArtifactFull && o.Finetuning == full:
		c["model_name_or_path"] = f.Start.Dir
	case f.Start.Kind == domain.ArtifactFull:
		return fault.New(fault.Invalid, "an adapter cannot start from a policy with all parameters: "+
			"export it, and set trainer.options.model to its folder")
	}

	return nil
}

// reference sets the reference policy of DPO. Without one, the program takes the model with its adapter switched off,
// which is right only for the base model. A reference that the program cannot use is an invalid fault.
func reference(c map[string]any, f external.Folder, o Options) error {
	if o.Finetuning == lora && f.Reference.Kind == domain.ArtifactBase {
		return nil // The model with its adapter switched off is the base model.
	}

	c["ref_model"] = f.Base.Dir
	switch f.Reference.Kind {
	case domain.ArtifactLoRA:
		c["ref_model_adapters"] = f.Reference.Dir
	case domain.ArtifactFull:
		if o.Finetuning != full {
			return fault.New(fault.Invalid, "the reference has all parameters, the policy is an adapter "+
				"on another model: export the reference, and set trainer.options.model to its folder")
		}
		c["ref_model"] = f.Reference.Dir
	}
	if bits, ok := c["quantization_bit"]; ok && c["ref_model_quantization_bit"] == nil {
		c["ref_model_quantization_bit"] = bits // Otherwise policy and reference differ before the first step.
	}

	return nil
}
