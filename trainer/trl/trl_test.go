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
)

func render(t *testing.T, change func(*trainer.Job, *external.Folder, *Options)) (map[string]any, error) {
	t.Helper()
	o := DefaultOptions()
	o.Model, o.PerDevice = filepath.Join(t.TempDir(), "model"), 2
	if err := standin.MakeModel(o.Model, 1); err != nil {
		t.Fatal(err)
	}
	base := external.Local{Artifact: domain.Artifact{Kind: domain.ArtifactBase}, Dir: o.Model}
	f := external.Folder{Path: t.TempDir(), Base: base, Start: base, Reference: base}
	j := trainer.Job{Objective: trainer.DPO, System: "s", Params: domain.TrainParams{BatchSize: 4, Passes: 2, Beta: 0.1, Warmup: 0.5}}
	for range 8 {
		j.Pairs = append(j.Pairs, domain.Pair{Prompt: "p", Chosen: "a", Rejected: "b", Weight: 1})
	}
	change(&j, &f, &o)
	var err error
	if j.Options, err = json.Marshal(o); err != nil {
		t.Fatal(err)
	}
	if _, err = (&Tool{Python: "sh"}).Render(t.Context(), f, j); err != nil {
		return nil, err
	}
	var got map[string]any
	raw, err := os.ReadFile(filepath.Join(f.Path, "job.json"))
	if err == nil {
		err = json.Unmarshal(raw, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	return got, nil
}

func TestWhatTheScriptIsGiven(t *testing.T) {
	adapter := external.Local{Artifact: domain.Artifact{Kind: domain.ArtifactLoRA, Rank: 8}, Dir: "/a"}
	got, err := render(t, func(_ *trainer.Job, f *external.Folder, _ *Options) { f.Start, f.Reference = adapter, adapter })
	if err != nil || got["adapter"] != "/a" || got["reference"] != "/a" || got["steps"] != 4.0 || got["accumulate"] != 2.0 || got["warmup_steps"] != 2.0 {
		t.Errorf("%v %v", got, err)
	}
	if got, err := render(t, func(*trainer.Job, *external.Folder, *Options) {}); err != nil || got["adapter"] != "" || got["reference"] != "" {
		t.Errorf("%v %v", got, err)
	}
	for want, change := range map[string]func(*trainer.Job, *external.Folder, *Options){
		"knows dpo only":                     func(j *trainer.Job, _ *external.Folder, _ *Options) { j.Objective = trainer.SFT },
		"takes no screenshots":               func(j *trainer.Job, _ *external.Folder, _ *Options) { j.Pairs[3].Image = "x" },
		"cannot be made of":                  func(_ *trainer.Job, _ *external.Folder, o *Options) { o.PerDevice = 3 },
		"rank 8, trainer.options.rank is 16": func(_ *trainer.Job, f *external.Folder, o *Options) { f.Start, o.Rank = adapter, 16 },
		"adapters and the base model only":   func(_ *trainer.Job, f *external.Folder, _ *Options) { f.Reference.Kind = domain.ArtifactFull },
	} {
		if _, err := render(t, change); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%v instead of %s", err, want)
		}
	}
}
