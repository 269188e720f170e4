package llamafactory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/hf"
)

// Tool drives llamafactory-cli.
type Tool struct {
	hf.Common
	Bucket  store.Bucket // of screenshots
	Program string       // "" : llamafactory-cli on the PATH
	Python  string       // interpreter that has the program's packages; "": the one in the program's first line
}

var _ external.Tool = (*Tool)(nil)

// Base checks the model's folder.
func (t *Tool) Base(options json.RawMessage) (domain.BaseModel, string, error) {
	o, err := decode(options)
	if err != nil {
		return domain.BaseModel{}, "", err
	}
	m, err := external.ModelOf(o.Model)
	return m, o.Model, err
}

// Render writes data/ and job.yaml. The same job gives the same bytes, so that running the command again is the resume.
func (t *Tool) Render(ctx context.Context, f external.Folder, j trainer.Job) (external.Command, error) {
	o, err := decode(j.Options)
	if err != nil {
		return external.Command{}, err
	}
	if j.Objective != trainer.SFT && j.Objective != trainer.DPO {
		return external.Command{}, fault.New(fault.Invalid, "LLaMA-Factory is driven for sft and dpo, not %q", j.Objective)
	}
	if batch := o.PerDevice * max(1, o.Devices); j.Params.BatchSize%batch != 0 {
		return external.Command{}, fault.New(fault.Invalid, "a batch of %d rows cannot be made of per_device × devices = %d", j.Params.BatchSize, batch)
	}
	if strings.ContainsAny(f.Path, " \t") {
		return external.Command{}, fault.New(fault.Invalid, "the folder %q has a blank, at which torchrun splits: start the worker with another --work", f.Path)
	}
	program, err := t.program()
	if err != nil {
		return external.Command{}, err
	}
	name, rows, err := t.data(ctx, f, j, o)
	if err != nil {
		return external.Command{}, err
	}
	total := j.Steps
	if total == 0 {
		total = max(1, rows/j.Params.BatchSize) * j.Params.Passes
	}
	conf, err := config(f, j, o, name, total)
	if err != nil {
		return external.Command{}, err
	}
	raw, err := yaml.Marshal(conf)
	if err != nil {
		return external.Command{}, fault.As(fault.Fatal, err)
	}
	file := filepath.Join(f.Path, "job.yaml")
	if err := errors.Join(os.WriteFile(file, raw, 0o644), os.WriteFile(filepath.Join(f.Path, rowsFile), strconv.AppendInt(nil, int64(rows), 10), 0o644)); err != nil {
		return external.Command{}, fault.New(fault.Transient, "write the configuration: %w", err)
	}
	cmd := external.Command{Args: []string{program, "train", file}, Total: total, Kind: domain.ArtifactFull, Devices: o.Devices, Stall: time.Duration(o.Stall * float64(time.Minute)), Versions: func() map[string]string {
		return external.Versions(t.python(program), "llamafactory", "torch", "transformers", "peft", "trl", "datasets", "accelerate", "tokenizers", "deepspeed")
	},
		Env: []string{"HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "HF_DATASETS_OFFLINE=1", "TOKENIZERS_PARALLELISM=false", "HF_DATASETS_CACHE=" + filepath.Join(f.Path, "cache"), "PYTHONUNBUFFERED=1"}, Drop: "|USE_V1=|LLAMABOARD_|FORCE_TORCHRUN="}
	if o.Finetuning == "lora" {
		cmd.Kind, cmd.Rank = domain.ArtifactLoRA, o.Rank
	}
	if o.Devices > 1 || o.DeepSpeed != "" {
		cmd.Env = append(cmd.Env, "FORCE_TORCHRUN=1", fmt.Sprintf("NPROC_PER_NODE=%d", max(1, o.Devices)))
	}
	return cmd, nil
}

// config are the program's keys (TRAINERS.md section 4.1).
func config(f external.Folder, j trainer.Job, o Options, dataset string, total int) (map[string]any, error) {
	c := map[string]any{
		"model_name_or_path": f.Base.Dir, "stage": j.Objective, "do_train": true, "finetuning_type": o.Finetuning, "template": o.Template,
		"dataset_dir": filepath.Join(f.Path, "data"), "media_dir": filepath.Join(f.Path, "data"), "dataset": dataset, "cutoff_len": o.Cutoff, "overwrite_cache": true,
		"output_dir": f.Out(), "logging_steps": 1, "save_strategy": "steps", "save_steps": o.SaveSteps, "save_total_limit": 3, "save_only_model": false, "overwrite_output_dir": false, "report_to": "none",
		"per_device_train_batch_size": o.PerDevice, "gradient_accumulation_steps": j.Params.BatchSize / (o.PerDevice * max(1, o.Devices)),
		"learning_rate": j.Params.LearningRate, "max_steps": total, "warmup_steps": int(j.Params.Warmup * float64(total)), "weight_decay": j.Params.WeightDecay, "lr_scheduler_type": "cosine_with_min_lr",
		"lr_scheduler_kwargs": map[string]any{"min_lr_rate": j.Params.FinalShare}, "bf16": o.Precision == "bf16", "fp16": o.Precision == "fp16", "seed": int(j.Seed % (1 << 31)), "data_seed": int(j.Seed % (1 << 31)),
		"logging_nan_inf_filter": false, "include_num_input_tokens_seen": true, "image_max_pixels": o.Pixels, "ddp_timeout": 180000000,
	}
	if j.Every > 0 {
		c["save_steps"] = j.Every
	}
	if j.Until > 0 {
		delete(c, "save_total_limit") // a station is a checkpoint: it must not be gone when it is looked at
	}
	if j.Params.FinalShare == 1 {
		c["lr_scheduler_type"] = "constant_with_warmup"
		delete(c, "lr_scheduler_kwargs")
	}
	if o.Finetuning == "lora" {
		c["lora_rank"], c["lora_dropout"], c["lora_target"], c["lora_alpha"] = o.Rank, o.Dropout, o.Target, o.Alpha
		if o.Alpha == 0 {
			c["lora_alpha"] = 2 * o.Rank
		}
	}
	if o.DeepSpeed != "" {
		if _, err := os.Stat(o.DeepSpeed); err != nil {
			return nil, fault.New(fault.Invalid, "trainer.options.deepspeed: %w; it must be there on every GPU worker", err)
		}
		c["deepspeed"] = o.DeepSpeed
	}
	for k, v := range o.Extra {
		var x any
		if err := yaml.Unmarshal([]byte(v), &x); err != nil {
			return nil, fault.New(fault.Invalid, "trainer.options.extra.%s: %w", k, err)
		}
		c[k] = x
	}
	if err := begin(c, f, o); err != nil {
		return nil, err
	}
	if j.Objective == trainer.DPO {
		c["pref_loss"], c["pref_beta"], c["pref_ftx"] = "sigmoid", j.Params.Beta, j.Params.Ftx
		return c, reference(c, f, o)
	}
	return c, nil
}

// begin sets what the update starts from.
func begin(c map[string]any, f external.Folder, o Options) error {
	switch {
	case f.Start.Kind == domain.ArtifactLoRA && o.Finetuning == "lora":
		if f.Start.Rank != o.Rank {
			return fault.New(fault.Invalid, "the policy to start from has rank %d, trainer.options.rank is %d: an adapter keeps its rank", f.Start.Rank, o.Rank)
		}
		c["adapter_name_or_path"] = f.Start.Dir
	case f.Start.Kind == domain.ArtifactLoRA:
		return fault.New(fault.Invalid, "all parameters cannot be trained from an adapter: merge it first (see `collabui export`), and name the result as trainer.options.model")
	case f.Start.Kind == domain.ArtifactFull && o.Finetuning == "full":
		c["model_name_or_path"] = f.Start.Dir
	case f.Start.Kind == domain.ArtifactFull:
		return fault.New(fault.Invalid, "an adapter cannot start from a policy with all parameters of its own: export it, and name its folder as trainer.options.model")
	}
	return nil
}

// reference sets π_ref of DPO explicitly (TRAINERS.md section 4.3): without a reference model the program takes the base model with the adapter switched off, which is right only
// where the base model is what was asked for. What the program cannot be given is refused.
func reference(c map[string]any, f external.Folder, o Options) error {
	if o.Finetuning == "lora" && f.Reference.Kind == domain.ArtifactBase {
		return nil // the adapter switched off
	}
	c["ref_model"] = f.Base.Dir
	switch f.Reference.Kind {
	case domain.ArtifactLoRA:
		c["ref_model_adapters"] = f.Reference.Dir
	case domain.ArtifactFull:
		if o.Finetuning != "full" {
			return fault.New(fault.Invalid, "the reference has all parameters of its own and the policy is an adapter on another model: export the reference, and name its folder as trainer.options.model")
		}
		c["ref_model"] = f.Reference.Dir
	}
	if bits, ok := c["quantization_bit"]; ok && c["ref_model_quantization_bit"] == nil {
		c["ref_model_quantization_bit"] = bits // else policy and reference would differ before the first step
	}
	return nil
}

// Points reads the program's log.
func (t *Tool) Points(f external.Folder) []domain.TrainPoint {
	return hf.Points(f, "trainer_log.jsonl", "current_steps")
}

// Result is there when the program has written its results, reached its last step, and left whole weights.
func (t *Tool) Result(f external.Folder) (map[string]string, map[string]float64, bool) {
	raw, err := os.ReadFile(filepath.Join(f.Out(), "train_results.json"))
	s, ok := hf.ReadState(f.Out())
	if err != nil || !ok || s.Step != s.Max {
		return nil, nil, false
	}
	files, _, err := hf.Policy(f, f.Out())
	return files, hf.Metrics(s, raw), err == nil
}

// program finds llamafactory-cli.
func (t *Tool) program() (string, error) {
	name := t.Program
	if name == "" {
		name = "llamafactory-cli"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fault.New(fault.Invalid, "this worker has no %s: install it (pip install llamafactory), or set COLLABUI_LLAMAFACTORY to its path, and start the worker again: %w", name, err)
	}
	return filepath.Abs(path)
}

var shebang = regexp.MustCompile(`^#!\s*(\S*python[0-9.]*)\s*\n`)

// python is the interpreter that has the program's packages; empty where nobody says.
func (t *Tool) python(program string) string {
	if t.Python != "" {
		return t.Python
	}
	f, err := os.Open(program)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 512)
	n, _ := f.Read(head)
	if m := shebang.FindSubmatch(head[:n]); m != nil {
		return string(m[1])
	}
	return ""
}

// Explain tells the usual ends apart.
func (t *Tool) Explain(tail string, exit error) error {
	for _, x := range explanations {
		if x.sign.MatchString(tail) {
			return fault.New(x.kind, "%s (%v)\n%s", x.meaning, exit, external.Tail(tail))
		}
	}
	var ended *exec.ExitError
	switch {
	case exit == nil:
		return fault.New(fault.Transient, "llamafactory-cli ended without its results\n%s", external.Tail(tail))
	case errors.As(exit, &ended) && !ended.Exited() || killed.MatchString(tail):
		return fault.New(fault.Transient, "llamafactory-cli was killed (%v): by a person, or by the system for want of memory; it goes on from its newest checkpoint\n%s", exit, external.Tail(tail))
	}
	for _, x := range uncertain {
		if x.sign.MatchString(tail) {
			return fault.New(x.kind, "%s (%v)\n%s", x.meaning, exit, external.Tail(tail))
		}
	}
	return fault.New(fault.Invalid, "llamafactory-cli failed (%v)\n%s", exit, external.Tail(tail))
}

// killed is how torchrun tells of a process that a signal ended: it then fails itself.
var killed = regexp.MustCompile(`Signal \d+ \(SIG(KILL|TERM|BUS|HUP)\)|exitcode\s*:\s*-\d+`)

// explanation of an end by its last words.
type explanation struct {
	sign    *regexp.Regexp
	kind    fault.Kind
	meaning string
}

// explanations are certain whatever ended the program; uncertain ones may also stand in warnings of a program that was killed.
var explanations = []explanation{
	{regexp.MustCompile(`(?i)CUDA out of memory|OutOfMemoryError|CUBLAS_STATUS_ALLOC_FAILED|can't allocate memory|Cannot allocate memory`), fault.Invalid, "the GPU's memory does not suffice: lower trainer.options.per_device or cutoff, raise devices, or let the server on the same GPU sleep (worker --shares)"},
	{regexp.MustCompile(`(?i)No space left on device|Disk quota exceeded|ENOSPC`), fault.Transient, "the disk is full: make room, the job goes on from its newest checkpoint"},
	{regexp.MustCompile(`(?i)Failed to load tokenizer|Error no file named|does not appear to have a file named|safetensors_rust\.SafetensorError|Incorrect path_or_model_id|Unable to load weights|is not a local folder and is not a valid model`), fault.Invalid, "weights are missing or not whole: bring trainer.options.model to this host again"},
	{regexp.MustCompile(`(?i)Some keys are not used by the HfArgumentParser|Some specified arguments are not used`), fault.Invalid, "this version of LLaMA-Factory does not know a key of the configuration: see trainer.options.extra"},
	{regexp.MustCompile(`(?i)Output directory already exists`), fault.Invalid, "the job's folder holds final weights but no checkpoint: delete it on this host"},
}

var uncertain = []explanation{
	{regexp.MustCompile(`(?i)ModuleNotFoundError|ImportError|version check|is required for a normal functioning`), fault.Invalid, "LLaMA-Factory is not installed completely on this worker"},
	{regexp.MustCompile(`NCCL error|ncclSystemError|ncclRemoteError|Watchdog caught collective|Address already in use|RendezvousConnectionError|ConnectionResetError`), fault.Transient, "the processes of the job lost one another; it goes on from its newest checkpoint"},
}
