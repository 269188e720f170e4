package trl

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/test/kit/standin"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/hf"
)

// change changes the job of a test.
type change func(*trainer.Job, *external.Folder, *Options)

// render returns job.json of a small job.
func render(t *testing.T, alter change) (map[string]any, error) {
	t.Helper()

	o := DefaultOptions()
	o.Model, o.PerDevice = filepath.Join(t.TempDir(), "model"), 2
	if err := standin.MakeModel(o.Model, 1); err != nil {
		t.Fatal(err)
	}
	base := external.Local{Artifact: domain.Artifact{Kind: domain.ArtifactBase}, Dir: o.Model}
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
	if _, err = (&Tool{Python: "sh"}).Render(t.Context(), f, j); err != nil {
		return nil, err
	}

	raw, err := os.ReadFile(filepath.Join(f.Path, hf.JobFile))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}

	return got, nil
}

var someAdapter = external.Local{Artifact: domain.Artifact{Kind: domain.ArtifactLoRA, Rank: 8}, Dir: "/a"}

func TestWhatTheScriptIsGiven(t *testing.T) {
	for name, c := range map[string]struct {
		alter change
		want  map[string]any
	}{
		"adapters": {
			alter: func(_ *trainer.Job, f *external.Folder, _ *Options) {
				f.Start, f.Reference = someAdapter, someAdapter
			},
			want: map[string]any{
				"adapter": "/a", "reference": "/a", "steps": 4.0, "accumulate": 2.0, "warmup_steps": 2.0, "ftx": 0.3,
			},
		},
		"grpo": {
			alter: func(j *trainer.Job, _ *external.Folder, _ *Options) {
				j.Objective, j.Params.Clip, j.Params.KL = trainer.GRPO, 0.2, 0.01
			},
			want: map[string]any{"objective": "grpo", "clip": 0.2, "kl": 0.01},
		},
		"base model": {
			alter: func(*trainer.Job, *external.Folder, *Options) {},
			want:  map[string]any{"adapter": "", "reference": ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := render(t, c.alter)
			if err != nil {
				t.Fatal(err)
			}
			for key, want := range c.want {
				if got[key] != want {
					t.Errorf("%s = %v, want %v", key, got[key], want)
				}
			}
		})
	}
}

func TestWhatTheScriptCannotDoIsRefused(t *testing.T) {
	for want, alter := range map[string]change{
		"supports only dpo and grpo": func(j *trainer.Job, _ *external.Folder, _ *Options) {
			j.Objective = trainer.SFT
		},
		"does not support screenshots": func(j *trainer.Job, _ *external.Folder, _ *Options) {
			j.Pairs[3].Image = "x"
		},
		"not a multiple of per_device": func(_ *trainer.Job, _ *external.Folder, o *Options) {
			o.PerDevice = 3
		},
		"rank 8, trainer.options.rank is 16": func(_ *trainer.Job, f *external.Folder, o *Options) {
			f.Start, o.Rank = someAdapter, 16
		},
		"adapters and the base model": func(_ *trainer.Job, f *external.Folder, _ *Options) {
			f.Reference.Kind = domain.ArtifactFull
		},
	} {
		t.Run(want, func(t *testing.T) {
			_, err := render(t, alter)
			if err == nil {
				t.Fatalf("the job was rendered, want an error with %q", want)
			}
			if got := fault.KindOf(err); got != fault.Invalid {
				t.Errorf("kind of the error = %s, want %s", got, fault.Invalid)
			}
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error = %v, want %q", err, want)
			}
		})
	}
}
