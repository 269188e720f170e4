package trainer_test

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/llamafactory"
	"github.com/collabui/collabui/trainer/trl"
)

// TestRealGRPO trains the small random Qwen2 with TRL on samples of a run, once without interruption and once killed
// and resumed on another host. It begins where LLaMA-Factory taught the model the form of the answers, so that it is
// left to GRPO which of them it prefers. What training did to every answer, and TRL's loss, are compared with plain
// transformers. `make test-llamafactory` runs it.
func TestRealGRPO(t *testing.T) {
	program := os.Getenv("COLLABUI_LLAMAFACTORY")
	if program == "" {
		t.Skip("set COLLABUI_LLAMAFACTORY to a llamafactory-cli, or run `make test-llamafactory`")
	}
	l := llamafactory.DefaultOptions()
	l.Model, l.Devices, l.Precision = makeModel(t, program), 0, "fp32"
	l.SaveSteps, l.Cutoff, l.PerDevice = 100, 2048, 2
	samples := samplesOfARun(t)
	alike := slices.Clone(samples)
	for i := range alike {
		alike[i].Advantage = 0 // right and wrong answers
	}
	sft := trainer.Job{
		ID: "runs/real/finetune/stage-1", Objective: trainer.SFT, Pairs: alike, Steps: 24, Seed: 11,
		System: agents.Default.System(), Options: raw(t, l),
		Params: domain.TrainParams{LearningRate: 5e-3, FinalShare: 0.1, BatchSize: 8, Passes: 1},
	}
	policies := &store.Memory{}
	start, err := host(t, program, policies, sft.Options).Train(t.Context(), sft, silent)
	if err != nil {
		t.Fatal(err)
	}

	j := sft
	j.ID, j.Objective, j.Pairs = "runs/real/epochs/0001/agents/0/job", trainer.GRPO, samples
	j.Start, j.Reference, j.Steps = start.Digest, start.Digest, 10
	j.Options = raw(t, trl.Options{
		Model: l.Model, Rank: l.Rank, Cutoff: 2048, PerDevice: 2, Precision: "float32", SaveSteps: 4,
	})
	j.Params.LearningRate, j.Params.BatchSize, j.Params.Clip, j.Params.KL = 2e-3, 16, 0.2, 0.01
	got := brokenAndWhole(t, program, j, policies)
	if got.again != got.TensorDigest {
		t.Errorf("the resumed job's parameters are %s, want %s", got.again, got.TensorDigest)
	}
	checkGRPO(t, program, j, l.Model, made{Result: start, from: policies}, got)
}

// samplesOfARun plays an epoch of a small run with GRPO and returns the samples of its first steps.
func samplesOfARun(t *testing.T) []domain.Pair {
	t.Helper()

	s := testrun.Small()
	s.Epochs, s.Preference = 1, spec.PreferenceGRPO
	s.Evaluation.TestSeeds, s.Evaluation.TestTemplates = 0, 0
	r := testrun.WithBase(t, s)
	if _, err := r.Play(t, nil); err != nil {
		t.Fatal(err)
	}
	var out []domain.Pair
	for slot := 1; slot <= s.Slots; slot++ {
		p, _, err := runs.Run(s.Name).Pairs(1, slot).Read(t.Context(), r.Bucket)
		if err != nil {
			t.Fatal(err)
		}
		if len(out) < 32 {
			out = append(out, p.Pairs...)
		}
	}
	raised := 0
	for _, p := range out {
		if p.Advantage > 0 {
			raised++
		}
	}
	if t.Logf("%d samples, %d with an advantage above 0", len(out), raised); raised < 8 || len(out)-raised < 8 {
		t.Fatalf("%d of %d samples have an advantage above 0, want at least 8 of each sign", raised, len(out))
	}

	return out
}

// checkGRPO compares a policy with the one that it was trained from, and the script's loss with the formula of
// docs/method.md.
func checkGRPO(t *testing.T, program string, j trainer.Job, model string, start, got made) {
	t.Helper()

	python := filepath.Join(filepath.Dir(program), "python")
	tool := &trl.Tool{Python: python}
	base := external.Local{Artifact: domain.Artifact{Kind: domain.ArtifactBase}, Dir: model}
	begin := external.Local{Artifact: domain.Artifact{Kind: domain.ArtifactLoRA, Rank: 8}, Dir: adapterOf(t, start)}
	f := external.Folder{Path: t.TempDir(), Base: base, Start: begin, Reference: begin}
	if _, err := tool.Render(t.Context(), f, j); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "trl/testdata/check_grpo.py", f.Path, adapterOf(t, got)).Output()
	if err != nil {
		t.Fatalf("check_grpo.py: %v, want figures\n%s", err, out)
	}
	var seen struct {
		Before, After, Old []float64
		Loss, Formula      float64
	}
	if err := json.Unmarshal(out, &seen); err != nil {
		t.Fatalf("check_grpo.py: %v, want figures\n%s", err, out)
	}

	var change, n [2]float64 // of answers with an advantage below and above 0
	for i, p := range j.Pairs {
		side := 0
		if p.Advantage > 0 {
			side = 1
		}
		change[side], n[side] = change[side]+seen.After[i]-seen.Before[i], n[side]+1
		if math.Abs(seen.Old[i]-seen.Before[i]) > tolerance {
			t.Errorf("log π of sample %d before the update = %g in the script, want %g",
				i, seen.Old[i], seen.Before[i])
		}
	}
	up, down := change[1]/n[1], change[0]/n[0]
	t.Logf("log π changed by %+.3f nats for %.0f raised answers, by %+.3f for %.0f lowered ones; loss %.6f by TRL, "+
		"%.6f by the formula; parameters %.12s", up, n[1], down, n[0], seen.Loss, seen.Formula, got.TensorDigest)
	if up <= 0 || down >= 0 {
		t.Errorf("log π changed by %g for raised and by %g for lowered answers, want above and below 0", up, down)
	}
	if math.Abs(seen.Loss-seen.Formula) > 1e-5 {
		t.Errorf("loss by TRL = %g, want %g, by the formula", seen.Loss, seen.Formula)
	}
}

// adapterOf writes a policy's files into a folder, as PEFT loads them.
func adapterOf(t *testing.T, m made) string {
	t.Helper()

	dir := t.TempDir()
	for _, f := range m.Report.Files {
		body, err := store.GetBlob(t.Context(), m.from, f.SHA256)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, f.Path), body, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	return dir
}
