package llamafactory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/standin"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
)

// tool finds some program under the name of llamafactory-cli; nothing is run.
func tool(t *testing.T) *Tool {
	t.Helper()
	program, err := standin.Program(t.TempDir(), "/bin/false")
	if err != nil {
		t.Fatal(err)
	}
	return &Tool{Bucket: &store.Memory{}, Program: program}
}

// rendered gives the keys that the program would be given.
func rendered(t *testing.T, tl *Tool, o Options, j trainer.Job, start, ref string) (map[string]any, external.Command, error) {
	t.Helper()
	o.Model = filepath.Join(t.TempDir(), "model")
	if err := standin.MakeModel(o.Model, 1); err != nil {
		t.Fatal(err)
	}
	f := external.Folder{Path: t.TempDir(), Base: external.Local{Artifact: domain.Artifact{Kind: domain.ArtifactBase}, Dir: o.Model}}
	local := func(kind string) external.Local {
		switch kind {
		case domain.ArtifactBase:
			return f.Base
		}
		return external.Local{Artifact: domain.Artifact{Kind: kind, Rank: 8}, Dir: "/policies/" + kind}
	}
	f.Start, f.Reference = local(start), local(ref)
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	j.System, j.Options = "You operate a phone.", raw
	cmd, err := tl.Render(t.Context(), f, j)
	if err != nil {
		return nil, cmd, err
	}
	raw, err = os.ReadFile(cmd.Args[2])
	var c map[string]any
	if err == nil {
		err = yaml.Unmarshal(raw, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range c { // folders differ from test to test
		if s, ok := v.(string); ok {
			c[k] = strings.ReplaceAll(strings.ReplaceAll(s, o.Model, "MODEL"), f.Path, "JOB")
		}
	}
	return c, cmd, nil
}

func someJob(objective string) trainer.Job {
	j := trainer.Job{ID: "j", Objective: objective, Seed: 1 << 40, Params: domain.TrainParams{LearningRate: 1e-4, Warmup: 0.1, FinalShare: 0.1, BatchSize: 8, Passes: 2, Beta: 0.2, Ftx: 0.5}}
	for i := range 24 {
		j.Pairs = append(j.Pairs, domain.Pair{Prompt: fmt.Sprint("Goal: ", i), Chosen: "a", Rejected: "b", Weight: 1})
	}
	return j
}

// TestTheReferenceIsTheOneAskedFor, or the job is refused (TRAINERS.md section 4.3).
func TestTheReferenceIsTheOneAskedFor(t *testing.T) {
	tl := tool(t)
	for _, c := range []struct{ finetuning, start, ref, want string }{
		{"lora", "base", "base", "model=MODEL adapter=<nil> ref=<nil>,<nil>"}, // the adapter switched off is the base
		{"lora", "lora", "base", "model=MODEL adapter=/policies/lora ref=<nil>,<nil>"},
		{"lora", "lora", "lora", "model=MODEL adapter=/policies/lora ref=MODEL,/policies/lora"},
		{"lora", "base", "lora", "model=MODEL adapter=<nil> ref=MODEL,/policies/lora"},
		{"lora", "base", "full", "refused: the reference has all parameters of its own"},
		{"lora", "full", "base", "refused: an adapter cannot start from a policy with all parameters"},
		{"full", "base", "base", "model=MODEL adapter=<nil> ref=MODEL,<nil>"}, // left unset, the program would take the policy itself
		{"full", "full", "base", "model=/policies/full adapter=<nil> ref=MODEL,<nil>"},
		{"full", "full", "full", "model=/policies/full adapter=<nil> ref=/policies/full,<nil>"},
		{"full", "lora", "base", "refused: all parameters cannot be trained from an adapter"},
	} {
		o := DefaultOptions()
		o.Finetuning = c.finetuning
		k, _, err := rendered(t, tl, o, someJob(trainer.DPO), c.start, c.ref)
		got := fmt.Sprintf("model=%v adapter=%v ref=%v,%v", k["model_name_or_path"], k["adapter_name_or_path"], k["ref_model"], k["ref_model_adapters"])
		if err != nil {
			got = "refused: " + err.Error()
		}
		if !strings.HasPrefix(got, c.want) || err != nil && fault.KindOf(err) != fault.Invalid || k["create_new_adapter"] != nil {
			t.Errorf("%s from %s against %s: %s instead of %s", c.finetuning, c.start, c.ref, got, c.want)
		}
	}
	o := DefaultOptions()
	o.Rank = 16
	if _, _, err := rendered(t, tl, o, someJob(trainer.DPO), "lora", "base"); err == nil || !strings.Contains(err.Error(), "an adapter keeps its rank") {
		t.Error(err)
	}
	o.Rank, o.Extra = 8, map[string]string{"quantization_bit": "4"}
	if k, _, err := rendered(t, tl, o, someJob(trainer.DPO), "lora", "lora"); err != nil || k["ref_model_quantization_bit"] != 4 {
		t.Errorf("%v %v", k["ref_model_quantization_bit"], err)
	}
}

func TestConfigurationFollowsFromTheJob(t *testing.T) {
	tl := tool(t)
	k, cmd, err := rendered(t, tl, DefaultOptions(), someJob(trainer.DPO), "base", "base")
	for key, want := range map[string]any{"stage": "dpo", "max_steps": 6, "warmup_steps": 0, "gradient_accumulation_steps": 8, "per_device_train_batch_size": 1, "pref_beta": 0.2, "pref_ftx": 0.5, "learning_rate": 1e-4,
		"lr_scheduler_type": "cosine_with_min_lr", "lora_rank": 8, "lora_alpha": 16, "bf16": true, "overwrite_output_dir": false, "save_only_model": false, "logging_nan_inf_filter": false, "output_dir": "JOB/out",
		"dataset": "collabui_data_dpo", "template": "qwen", "cutoff_len": 4096, "save_total_limit": 3} {
		if k[key] != want {
			t.Errorf("%s: %v (%T) instead of %v", key, k[key], k[key], want)
		}
	}
	if err != nil || cmd.Total != 6 || cmd.Kind != domain.ArtifactLoRA || cmd.Rank != 8 || cmd.Devices != 1 || strings.Contains(fmt.Sprint(cmd.Env), "FORCE_TORCHRUN") {
		t.Errorf("%+v %v", cmd, err)
	}
	deep := filepath.Join(t.TempDir(), "zero3.json")
	if err := os.WriteFile(deep, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.Devices, o.DeepSpeed, o.Finetuning, o.PerDevice, o.Extra = 4, deep, "full", 2, map[string]string{"flash_attn": "fa2", "enable_liger_kernel": "true"}
	j := someJob(trainer.SFT)
	j.Params.FinalShare, j.Every, j.Until = 1, 2, 4
	k, cmd, err = rendered(t, tl, o, j, "base", "")
	if err != nil || k["deepspeed"] != deep || k["gradient_accumulation_steps"] != 1 || k["finetuning_type"] != "full" || k["lora_rank"] != nil || k["flash_attn"] != "fa2" || k["enable_liger_kernel"] != true || k["pref_beta"] != nil ||
		k["lr_scheduler_type"] != "constant_with_warmup" || k["save_steps"] != 2 || k["save_total_limit"] != nil || cmd.Kind != domain.ArtifactFull || !strings.Contains(fmt.Sprint(cmd.Env), "FORCE_TORCHRUN=1 NPROC_PER_NODE=4") {
		t.Errorf("%v %+v %v", k, cmd, err)
	}
	o.DeepSpeed = "/nowhere.json"
	if _, _, err := rendered(t, tl, o, j, "base", ""); err == nil || !strings.Contains(err.Error(), "every GPU worker") {
		t.Error(err)
	}
}

// TestRowsThatWouldBeDroppedOrCutAreRefused before the program starts.
func TestRowsThatWouldBeDroppedOrCutAreRefused(t *testing.T) {
	tl := tool(t)
	o := DefaultOptions()
	o.Cutoff = 100
	user, answer := `{"role":"user","content":"u"}`, `{"role":"assistant","content":"a"}`
	for line, want := range map[string]string{
		`{"messages":[` + user + `]}`: "expected an even number of turns",
		`{"messages":[{"role":"system","content":"s"},` + user + `,` + answer + `,` + user + `]}`: "expected an even number of turns",
		`{"messages":[` + answer + `,` + user + `]}`:                                              "user and assistant in turn",
		`{"messages":[]}`: "expected an even number of turns",
		`{"messages":[` + user + `,` + answer + `],"images":["x.png"]}`:                                 "as many images as places for them: 1 and 0",
		`{"messages":[{"role":"user","content":"<image><image>"},` + answer + `],"images":["x.png"]}`:   "as many images as places for them: 1 and 2",
		`{"messages":[{"role":"user","content":"` + strings.Repeat("long ", 20) + `"},` + answer + `]}`: "nobody can count them here",
		`{"messages":[{"role":"user","content":"<image>"},` + answer + `],"images":["x.png"]}`:          "nobody can count them here", // some 330 tokens of pixels
		`{`: "expected a JSON object",
	} {
		if err := tl.check(t.Context(), "f.jsonl", []byte(line), false, o); err == nil || fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n\tgave %v\n\twant %s", line, err, want)
		}
	}
	for line, want := range map[string]string{
		`{"messages":[` + user + `],"chosen":` + answer + `}`:                                          "expected chosen and rejected answers",
		`{"messages":[` + user + `,` + answer + `],"chosen":` + answer + `,"rejected":` + answer + `}`: "expected an odd number of turns",
		`{"messages":[` + user + `],"chosen":` + user + `,"rejected":` + answer + `}`:                  "expected chosen and rejected answers",
	} {
		if err := tl.check(t.Context(), "f.jsonl", []byte(line), true, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n\tgave %v\n\twant %s", line, err, want)
		}
	}
	good := `{"messages":[{"role":"system","content":"s"},` + user + `],"chosen":` + answer + `,"rejected":` + answer + "}\n"
	if err := tl.check(t.Context(), "f.jsonl", []byte(good), true, o); err != nil {
		t.Error(err)
	}
	counter := filepath.Join(t.TempDir(), "python") // says 90 tokens of the first row, 30 of the second
	if err := os.WriteFile(counter, []byte("#!/bin/sh\necho '[90, 30]'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	tl.Python = counter
	long := `{"messages":[{"role":"user","content":"` + strings.Repeat("long ", 20) + `"},` + answer + "]}\n"
	if err := tl.check(t.Context(), "f.jsonl", []byte(long+long), false, o); err == nil || !strings.Contains(err.Error(), "f.jsonl:1: 154 tokens (64 of them for template and images) are more than trainer.options.cutoff 100") {
		t.Error(err)
	}
	for name, change := range map[string]func(*trainer.Job){"no prompt": func(j *trainer.Job) { j.Pairs[3].Prompt = "" }, "equal answers": func(j *trainer.Job) { j.Pairs[3].Rejected = "a" }} {
		j := someJob(trainer.DPO)
		change(&j)
		if _, _, err := rendered(t, tl, DefaultOptions(), j, "base", "base"); err == nil || !strings.Contains(err.Error(), "row 4 of job j") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestImagesStandBesideTheirRows, and words of a page that look like a place for one do not become one.
func TestImagesStandBesideTheirRows(t *testing.T) {
	tl := tool(t)
	png := []byte("\x89PNG not really")
	ref, err := store.PutBlob(t.Context(), tl.Bucket, png)
	if err != nil {
		t.Fatal(err)
	}
	j := someJob(trainer.SFT)
	j.Pairs[0].Image, j.Pairs[1].Prompt = ref.SHA256, "Goal: press <image>"
	_, cmd, err := rendered(t, tl, DefaultOptions(), j, "base", "")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(cmd.Args[2]), "data")
	got, err := os.ReadFile(filepath.Join(dir, synth.ImageFile(ref.SHA256)))
	rows, err2 := os.ReadFile(filepath.Join(dir, "data.sharegpt.jsonl"))
	if err != nil || err2 != nil || string(got) != string(png) || strings.Count(string(rows), `\u003cimage\u003e`) != 1 {
		t.Errorf("%v %v %.300s", err, err2, rows)
	}
}

func TestEndsAreToldApart(t *testing.T) {
	run := func(script string) error { return exec.Command("sh", "-c", script).Run() }
	killed, failed := run("kill -9 $$"), run("exit 1")
	for _, c := range []struct {
		tail string
		exit error
		kind fault.Kind
	}{
		{"", nil, fault.Transient},
		{"", killed, fault.Transient},
		{"UserWarning: ImportError while trying something", killed, fault.Transient},
		{"torch.OutOfMemoryError: CUDA out of memory.", failed, fault.Invalid},
		{"safetensors_rust.SafetensorError: I/O error: No space left on device (os error 28)", failed, fault.Transient},
		{"safetensors_rust.SafetensorError: Error while deserializing header", failed, fault.Invalid},
		{"traceback : Signal 9 (SIGKILL) received by PID 77", failed, fault.Transient},
		{"exitcode  : -9 (pid: 77)", failed, fault.Transient},
		{"ValueError: something\n[rank0]: ProcessGroupNCCL.cpp:1250] Warning: destroy_process_group() was not called", failed, fault.Invalid},
		{"torch.distributed.DistBackendError: NCCL error in: x.cpp", failed, fault.Transient},
		{"ModuleNotFoundError: No module named 'peft'", failed, fault.Invalid},
	} {
		if err := (&Tool{}).Explain(c.tail, c.exit); fault.KindOf(err) != c.kind {
			t.Errorf("%q, %v: %v instead of %v: %v", c.tail, c.exit, fault.KindOf(err), c.kind, err)
		}
	}
}

// TestADrainWhileTokensAreCountedIsNoFault of the rows.
func TestADrainWhileTokensAreCountedIsNoFault(t *testing.T) {
	tl, o := tool(t), DefaultOptions()
	o.Cutoff = 100
	slow := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(slow, []byte("#!/bin/sh\nexec sleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	tl.Python = slow
	ctx, cancel := context.WithCancelCause(t.Context())
	why := fault.New(fault.Transient, "the worker drains")
	time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
	long := `{"messages":[{"role":"user","content":"` + strings.Repeat("long ", 20) + `"},{"role":"assistant","content":"a"}]}`
	if err := tl.check(ctx, "f.jsonl", []byte(long), false, o); !errors.Is(err, why) {
		t.Error(err)
	}
}
