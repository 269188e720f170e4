package standin

// config are the keys that the stand-in knows. Unknown keys are errors, as in the real program.
type config struct {
	Model      string             `yaml:"model_name_or_path"`
	Stage      string             `yaml:"stage"`
	Adapter    string             `yaml:"adapter_name_or_path"`
	RefModel   string             `yaml:"ref_model"`
	RefAdapter string             `yaml:"ref_model_adapters"`
	DataDir    string             `yaml:"dataset_dir"`
	Dataset    string             `yaml:"dataset"`
	Out        string             `yaml:"output_dir"`
	Steps      int                `yaml:"max_steps"`
	Save       int                `yaml:"save_steps"`
	Keep       int                `yaml:"save_total_limit"`
	PerDevice  int                `yaml:"per_device_train_batch_size"`
	Accumulate int                `yaml:"gradient_accumulation_steps"`
	Rate       float64            `yaml:"learning_rate"`
	Warmup     int                `yaml:"warmup_steps"`
	Beta       float64            `yaml:"pref_beta"`
	Ftx        float64            `yaml:"pref_ftx"`
	Smoothing  float64            `yaml:"dpo_label_smoothing"`
	Seed       uint64             `yaml:"seed"`
	Rank       int                `yaml:"lora_rank"`
	Kwargs     map[string]float64 `yaml:"lr_scheduler_kwargs"`
	Bf16       bool               `yaml:"bf16"`
	UseCPU     bool               `yaml:"use_cpu"`

	// Ignored are keys that the real program knows and the stand-in does not need.
	Ignored ignored `yaml:",inline"`
}

// ignored are the keys that have no effect on the stand-in.
type ignored struct {
	DoTrain                   any `yaml:"do_train"`
	FinetuningType            any `yaml:"finetuning_type"`
	Template                  any `yaml:"template"`
	MediaDir                  any `yaml:"media_dir"`
	CutoffLen                 any `yaml:"cutoff_len"`
	OverwriteCache            any `yaml:"overwrite_cache"`
	LoggingSteps              any `yaml:"logging_steps"`
	SaveStrategy              any `yaml:"save_strategy"`
	SaveOnlyModel             any `yaml:"save_only_model"`
	OverwriteOutputDir        any `yaml:"overwrite_output_dir"`
	ReportTo                  any `yaml:"report_to"`
	WeightDecay               any `yaml:"weight_decay"`
	LrSchedulerType           any `yaml:"lr_scheduler_type"`
	Fp16                      any `yaml:"fp16"`
	LoggingNanInfFilter       any `yaml:"logging_nan_inf_filter"`
	IncludeNumInputTokensSeen any `yaml:"include_num_input_tokens_seen"`
	ImageMaxPixels            any `yaml:"image_max_pixels"`
	DdpTimeout                any `yaml:"ddp_timeout"`
	LoraDropout               any `yaml:"lora_dropout"`
	LoraTarget                any `yaml:"lora_target"`
	LoraAlpha                 any `yaml:"lora_alpha"`
	PrefLoss                  any `yaml:"pref_loss"`
	DataSeed                  any `yaml:"data_seed"`
	TrustRemoteCode           any `yaml:"trust_remote_code"`
	FlashAttn                 any `yaml:"flash_attn"`
}
