package peft

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/test/kit/standin"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
)

// change changes the job of a test.
type change func(*trainer.Job, *external.Folder, *Options)

// render returns the command and job.json of a small job on the base model in a folder.
func render(t *testing.T, model string, alter change) (external.Command, map[string]any, error) {
	t.Helper()

	o := DefaultOptions()
	o.Model, o.PerDevice = model, 2
	base := external.Local{Artifact: domain.Artifact{Kind: domain.ArtifactBase}, Dir: model}
	f := external.Folder{Path: t.TempDir(), Base: base, Start: base, Reference: base}
	j := trainer.Job{
		Objective: trainer.DPO,
		System:    "s",
		Params:    domain.TrainParams{BatchSize: 4, Passes: 2, Beta: 0.1, Ftx: 0.3, Warmup: 0.5},
	}
	for range 8 {
		j.Pairs = append(j.Pairs, domain.Example{Prompt: "p", Chosen: "a", Rejected: "b", Weight: 1})
	}
	alter(&j, &f, &o)

	var err error
	if j.Options, err = json.Marshal(o); err != nil {
		t.Fatal(err)
	}
	cmd, err := (&Tool{Python: "sh"}).Render(t.Context(), f, j)
	if err != nil {
		return cmd, nil, err
	}
	raw, err := os.ReadFile(cmd.Job)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}

	return cmd, got, nil
}

func makeModel(t *testing.T) string {
	t.Helper()
	model := filepath.Join(t.TempDir(), "model")
	if err := standin.MakeModel(model, 1); err != nil {
		t.Fatal(err)
	}

	return model
}

func TestTheScriptGetsTheParametersOfTheJob(t *testing.T) {
	_, got, err := render(t, makeModel(t), func(j *trainer.Job, f *external.Folder, o *Options) {
		f.Start = external.Local{Artifact: domain.Artifact{Kind: domain.ArtifactLoRA, Rank: 8}, Dir: "/start"}
		o.Target = "q_proj,v_proj"
		j.Until = 2
		j.Every = 1
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"objective": "dpo", "adapter": "/start", "reference": "", "steps": 4.0, "batch": 4.0, "per_device": 2.0,
		"warmup_steps": 2.0, "beta": 0.1, "ftx": 0.3, "alpha": 16.0, "target": "q_proj,v_proj", "save_steps": 1.0,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

func TestOnlyJobsOfOneBaseTrainTogether(t *testing.T) {
	model := makeModel(t)
	shares := func(together bool, precision, model string) string {
		cmd, _, err := render(t, model, func(_ *trainer.Job, _ *external.Folder, o *Options) {
			o.Together = together
			o.Precision = precision
		})
		if err != nil {
			t.Fatal(err)
		}

		return cmd.Shares
	}
	one := shares(true, "float32", model)
	if shares(true, "float32", model) != one {
		t.Error("two jobs on one base do not share a process")
	}
	for name, other := range map[string]string{
		"precision": shares(true, "bfloat16", model), "base model": shares(true, "float32", makeModel(t)),
		"option": shares(false, "float32", model),
	} {
		if other == one || other == "" {
			t.Errorf("a job with another %s shares the process %q, want another one", name, other)
		}
	}
	first := shares(false, "float32", model)
	if second := shares(false, "float32", model); first == second {
		t.Error("two jobs share a process without together")
	}
}

func TestJobsThatTheScriptCannotDoAreRefused(t *testing.T) {
	model := makeModel(t)
	for want, alter := range map[string]change{
		"supports sft and dpo": func(j *trainer.Job, _ *external.Folder, _ *Options) { j.Objective = trainer.GRPO },
		"does not support screenshots": func(j *trainer.Job, _ *external.Folder, _ *Options) {
			j.Pairs[0].Image = "picture"
		},
		"not a multiple of per_device": func(_ *trainer.Job, _ *external.Folder, o *Options) { o.PerDevice = 3 },
		"has rank 4": func(_ *trainer.Job, f *external.Folder, _ *Options) {
			f.Start = external.Local{Artifact: domain.Artifact{Kind: domain.ArtifactLoRA, Rank: 4}}
		},
		"only adapters and the base": func(_ *trainer.Job, f *external.Folder, _ *Options) {
			f.Reference.Kind = domain.ArtifactFull
		},
		"trainer.options.target": func(_ *trainer.Job, _ *external.Folder, o *Options) { o.Target = "q proj" },
	} {
		t.Run(want, func(t *testing.T) {
			_, _, err := render(t, model, alter)
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
				t.Errorf("Render = %v, want an invalid fault with %q", err, want)
			}
		})
	}
}

func TestAJobThatFailsSaysWhy(t *testing.T) {
	f := external.Folder{Path: t.TempDir()}
	tool := &Tool{}
	if err := tool.Alarm(f, ""); err != nil {
		t.Errorf("Alarm of a job that runs = %v, want nil", err)
	}
	for said, want := range map[string]fault.Kind{
		"ValueError: 3 of 8 rows are longer than cutoff 64": fault.Invalid,
		"OSError: No space left on device":                  fault.Transient,
		"torch.OutOfMemoryError: CUDA out of memory":        fault.Invalid,
	} {
		if err := os.WriteFile(filepath.Join(f.Path, errorFile), []byte(said), 0o644); err != nil {
			t.Fatal(err)
		}
		err := tool.Alarm(f, "")
		if fault.KindOf(err) != want || !strings.Contains(err.Error(), said) {
			t.Errorf("Alarm = %v, want a fault of kind %s that contains %q", err, want, said)
		}
		if strings.Contains(said, "memory") != errors.Is(err, external.ErrMemory) {
			t.Errorf("Alarm of %q = %v, want ErrMemory only if the memory is too small", said, err)
		}
	}
}
