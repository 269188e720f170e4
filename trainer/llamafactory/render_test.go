package llamafactory

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/standin"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/rows"
)

// tool returns a tool that finds some program as llamafactory-cli. Nothing is run.
func tool(t *testing.T) *Tool {
	t.Helper()

	program, err := standin.Program(t.TempDir(), "/bin/false")
	if err != nil {
		t.Fatal(err)
	}

	return &Tool{Bucket: &store.Memory{}, Program: program}
}

// rendered returns the keys that the program would be given. Folders are replaced by MODEL and JOB.
func rendered(
	t *testing.T, tl *Tool, o Options, j trainer.Job, start, ref domain.ArtifactKind,
) (map[string]any, external.Command, error) {
	t.Helper()

	o.Model = filepath.Join(t.TempDir(), "model")
	if err := standin.MakeModel(o.Model, 1); err != nil {
		t.Fatal(err)
	}
	base := external.Local{Artifact: domain.Artifact{Kind: domain.ArtifactBase}, Dir: o.Model}
	local := func(kind domain.ArtifactKind) external.Local {
		if kind == domain.ArtifactBase {
			return base
		}

		return external.Local{Artifact: domain.Artifact{Kind: kind, Rank: 8}, Dir: "/policies/" + string(kind)}
	}
	f := external.Folder{
		Path: filepath.Join(t.TempDir(), "jobs", "j"), Base: base, Start: local(start), Reference: local(ref),
	}

	if err := os.MkdirAll(f.Path, 0o755); err != nil {
		t.Fatal(err)
	}

	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	j.System, j.Options = "You operate a phone.", raw
	cmd, err := tl.Render(t.Context(), f, j)
	if err != nil {
		return nil, cmd, err
	}

	if raw, err = os.ReadFile(cmd.Args[2]); err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := yaml.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	folders := strings.NewReplacer(o.Model, "MODEL", f.Path, "JOB")
	for k, v := range c {
		if s, ok := v.(string); ok {
			c[k] = folders.Replace(s)
		}
	}

	return c, cmd, nil
}

func someJob(objective trainer.Objective) trainer.Job {
	j := trainer.Job{ID: "j", Objective: objective, Seed: 1 << 40, Params: domain.TrainParams{
		LearningRate: 1e-4, Warmup: 0.1, FinalShare: 0.1, BatchSize: 8, Passes: 2, Beta: 0.2,
		Smoothing: 0.1, Ftx: 0.5,
	}}
	for i := range 24 {
		p := domain.Example{Prompt: fmt.Sprint("Goal: ", i), Chosen: "a", Rejected: "b", Weight: 1}
		j.Pairs = append(j.Pairs, p)
	}

	return j
}

// wantKeys compares keys of a configuration; nil means that a key is not set.
func wantKeys(t *testing.T, got, want map[string]any) {
	t.Helper()

	for key, x := range want {
		if got[key] != x {
			t.Errorf("%s = %v (%T), want %v", key, got[key], got[key], x)
		}
	}
}

// wantInvalid checks that an error is an invalid fault with a text.
func wantInvalid(t *testing.T, err error, want string) {
	t.Helper()

	if err == nil {
		t.Fatalf("no error, want one with %q", want)
	}
	if got := fault.KindOf(err); got != fault.Invalid {
		t.Errorf("kind of the error = %s, want %s: %v", got, fault.Invalid, err)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %q", err, want)
	}
}

// TestTheReferenceIsTheOneAskedFor, or the job is refused.
func TestTheReferenceIsTheOneAskedFor(t *testing.T) {
	const base, adapter, whole = domain.ArtifactBase, domain.ArtifactLoRA, domain.ArtifactFull
	for _, c := range []struct {
		finetuning string
		start, ref domain.ArtifactKind
		refused    string
		want       map[string]any
	}{
		{
			// The reference is the base model: the adapter is switched off.
			finetuning: lora, start: base, ref: base,
			want: map[string]any{"model_name_or_path": "MODEL"},
		},
		{
			finetuning: lora, start: adapter, ref: base,
			want: map[string]any{"model_name_or_path": "MODEL", "adapter_name_or_path": "/policies/lora"},
		},
		{
			finetuning: lora, start: adapter, ref: adapter,
			want: map[string]any{
				"model_name_or_path": "MODEL", "adapter_name_or_path": "/policies/lora",
				"ref_model": "MODEL", "ref_model_adapters": "/policies/lora",
			},
		},
		{
			finetuning: lora, start: base, ref: adapter,
			want: map[string]any{
				"model_name_or_path": "MODEL", "ref_model": "MODEL", "ref_model_adapters": "/policies/lora",
			},
		},
		{finetuning: lora, start: base, ref: whole, refused: "the reference has all parameters"},
		{
			finetuning: lora, start: whole, ref: base,
			refused: "an adapter cannot start from a policy with all parameters",
		},
		{
			// Without a reference, the program would take the policy itself.
			finetuning: full, start: base, ref: base,
			want: map[string]any{"model_name_or_path": "MODEL", "ref_model": "MODEL"},
		},
		{
			finetuning: full, start: whole, ref: base,
			want: map[string]any{"model_name_or_path": "/policies/full", "ref_model": "MODEL"},
		},
		{
			finetuning: full, start: whole, ref: whole,
			want: map[string]any{"model_name_or_path": "/policies/full", "ref_model": "/policies/full"},
		},
		{finetuning: full, start: adapter, ref: base, refused: "all parameters cannot be trained from an adapter"},
	} {
		t.Run(fmt.Sprintf("%s from %s against %s", c.finetuning, c.start, c.ref), func(t *testing.T) {
			o := DefaultOptions()
			o.Finetuning = c.finetuning
			got, _, err := rendered(t, tool(t), o, someJob(trainer.DPO), c.start, c.ref)
			if c.refused != "" {
				wantInvalid(t, err, c.refused)

				return
			}
			if err != nil {
				t.Fatal(err)
			}

			for _, key := range []string{
				"model_name_or_path", "adapter_name_or_path", "ref_model", "ref_model_adapters", "create_new_adapter",
			} {
				wantKeys(t, got, map[string]any{key: c.want[key]})
			}
		})
	}
}

func TestAnAdapterKeepsItsRank(t *testing.T) {
	o := DefaultOptions()
	o.Rank = 16
	_, _, err := rendered(t, tool(t), o, someJob(trainer.DPO), domain.ArtifactLoRA, domain.ArtifactBase)
	wantInvalid(t, err, "an adapter keeps its rank")
}

func TestTheReferenceIsQuantisedLikeThePolicy(t *testing.T) {
	o := DefaultOptions()
	o.Extra = map[string]string{"quantization_bit": "4"}
	got, _, err := rendered(t, tool(t), o, someJob(trainer.DPO), domain.ArtifactLoRA, domain.ArtifactLoRA)
	if err != nil {
		t.Fatal(err)
	}
	wantKeys(t, got, map[string]any{"ref_model_quantization_bit": 4})
}

func TestConfigurationFollowsFromTheJob(t *testing.T) {
	job := someJob(trainer.DPO)
	got, cmd, err := rendered(t, tool(t), DefaultOptions(), job, domain.ArtifactBase, domain.ArtifactBase)
	if err != nil {
		t.Fatal(err)
	}

	wantKeys(t, got, map[string]any{
		"stage":                       "dpo",
		"max_steps":                   6,
		"warmup_steps":                0,
		"gradient_accumulation_steps": 8,
		"per_device_train_batch_size": 1,
		"pref_beta":                   0.2,
		"pref_ftx":                    0.5,
		"dpo_label_smoothing":         0.1,
		"learning_rate":               1e-4,
		"lr_scheduler_type":           "cosine_with_min_lr",
		"lora_rank":                   8,
		"lora_alpha":                  16,
		"bf16":                        true,
		"overwrite_output_dir":        false,
		"save_only_model":             false,
		"logging_nan_inf_filter":      false,
		"output_dir":                  "JOB/out",
		"dataset":                     "collabui_data_dpo",
		"template":                    "qwen",
		"cutoff_len":                  4096,
		"save_total_limit":            3,
	})
	if cmd.Total != 6 {
		t.Errorf("total = %d steps, want 6", cmd.Total)
	}
	if cmd.Kind != domain.ArtifactLoRA || cmd.Rank != 8 {
		t.Errorf("artifact = %s of rank %d, want lora of rank 8", cmd.Kind, cmd.Rank)
	}
	if cmd.Devices != 1 {
		t.Errorf("devices = %d, want 1", cmd.Devices)
	}
	if slices.Contains(cmd.Env, "FORCE_TORCHRUN=1") {
		t.Errorf("environment = %v, want no torchrun on one device", cmd.Env)
	}
}

// fullOptions returns options for all parameters on four devices, and a job of SFT that ends early.
func fullOptions(deepspeed string) (Options, trainer.Job) {
	o := DefaultOptions()
	o.Devices, o.DeepSpeed, o.Finetuning, o.PerDevice = 4, deepspeed, full, 2
	o.Extra = map[string]string{"flash_attn": "fa2", "enable_liger_kernel": "true"}

	j := someJob(trainer.SFT)
	j.Params.FinalShare, j.Every, j.Until = 1, 2, 4

	return o, j
}

func TestConfigurationOfAllParametersOnManyDevices(t *testing.T) {
	deepspeed := filepath.Join(t.TempDir(), "zero3.json")
	if err := os.WriteFile(deepspeed, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	o, j := fullOptions(deepspeed)
	got, cmd, err := rendered(t, tool(t), o, j, domain.ArtifactBase, "")
	if err != nil {
		t.Fatal(err)
	}

	wantKeys(t, got, map[string]any{
		"deepspeed":                   deepspeed,
		"gradient_accumulation_steps": 1,
		"finetuning_type":             "full",
		"lora_rank":                   nil,
		"flash_attn":                  "fa2",
		"enable_liger_kernel":         true,
		"pref_beta":                   nil,
		"lr_scheduler_type":           "constant_with_warmup",
		"save_steps":                  2,
		"save_total_limit":            nil,
	})
	if cmd.Kind != domain.ArtifactFull {
		t.Errorf("artifact = %s, want full", cmd.Kind)
	}
	for _, want := range []string{"FORCE_TORCHRUN=1", "NPROC_PER_NODE=4"} {
		if !slices.Contains(cmd.Env, want) {
			t.Errorf("environment = %v, want %s", cmd.Env, want)
		}
	}
}

// TestAJobThatRunsToItsEndKeepsItsCheckpoints: a chunk of more steps than the job has would have none.
func TestAJobThatRunsToItsEndKeepsItsCheckpoints(t *testing.T) {
	j := someJob(trainer.SFT)
	j.Every, j.Until = 100, 100
	got, _, err := rendered(t, tool(t), DefaultOptions(), j, domain.ArtifactBase, "")
	if err != nil {
		t.Fatal(err)
	}
	wantKeys(t, got, map[string]any{"save_steps": DefaultOptions().SaveSteps, "save_total_limit": 3})
}

// TestImagesAreNextToTheirRows, and words of a page that look like a place for an image do not become one.
func TestImagesAreNextToTheirRows(t *testing.T) {
	tl := tool(t)
	const png = "\x89PNG not really"
	ref, err := store.PutBlob(t.Context(), tl.Bucket, []byte(png))
	if err != nil {
		t.Fatal(err)
	}
	j := someJob(trainer.SFT)
	j.Pairs[0].Image, j.Pairs[1].Prompt, j.Pairs[2].Chosen = ref.SHA256, "Goal: press <image>", "press <image>"
	_, cmd, err := rendered(t, tl, DefaultOptions(), j, domain.ArtifactBase, "")
	if err != nil {
		t.Fatal(err)
	}

	dir := filepath.Join(filepath.Dir(cmd.Args[2]), dataDir)
	got, err := os.ReadFile(filepath.Join(dir, rows.ImageFile(ref.SHA256)))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != png {
		t.Errorf("image = %q, want %q", got, png)
	}

	data, err := os.ReadFile(filepath.Join(dir, "data.sharegpt.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), `\u003cimage\u003e`); n != 1 {
		t.Errorf("%d places for images, want 1: %.300s", n, data)
	}
}
