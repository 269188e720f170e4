package trainer_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/trl"
)

// TestRealGRPO trains the small random Qwen2 with TRL on samples, once without interruption and once killed and resumed
// on another host. What training did to every answer, and TRL's loss, are compared with plain transformers. Then a
// second update begins at the first one's adapter, with the base as reference. `make test-llamafactory` runs it.
func TestRealGRPO(t *testing.T) {
	program := os.Getenv("COLLABUI_LLAMAFACTORY")
	if program == "" {
		t.Skip("set COLLABUI_LLAMAFACTORY to a llamafactory-cli, or run `make test-llamafactory`")
	}
	model := makeModel(t, program)
	options, policies := raw(t, trl.Options{
		Model: model, Rank: 8, Cutoff: 512, PerDevice: 2, Precision: "float32", SaveSteps: 4,
	}), &store.Memory{}
	base, err := host(t, program, policies, options).Adopt(t.Context(), domain.UntrainedBase, options)
	if err != nil {
		t.Fatal(err)
	}
	j := trainer.Job{
		ID: "runs/real/epochs/0001/agents/0/job", Objective: trainer.GRPO, Pairs: groups(4),
		Start: base.Digest, Reference: base.Digest, Steps: 16, Seed: 11, System: "s", Options: options,
		Params: domain.TrainParams{
			LearningRate: 5e-3, FinalShare: 0.1, BatchSize: 8, Passes: 1, Clip: 0.2, KL: 0.01,
		},
	}
	first := brokenAndWhole(t, program, j, policies)
	if first.again != first.TensorDigest {
		t.Errorf("the resumed job's parameters are %s, want %s", first.again, first.TensorDigest)
	}
	checkGRPO(t, program, j, model, first)

	second := j
	second.ID, second.Start, second.Steps = "runs/real/epochs/0002/agents/0/job", first.Digest, 4
	got, err := host(t, program, first.from, options).Train(t.Context(), second, silent)
	if err != nil {
		t.Fatal(err)
	}
	if got.TensorDigest == first.TensorDigest || len(got.Curve) != second.Steps {
		t.Errorf("the second update has %d steps and parameters %.12s, want %d and others than %.12s",
			len(got.Curve), got.TensorDigest, second.Steps, first.TensorDigest)
	}
}

// groups returns the samples of n steps, at each of which two agents are right in their second round only. Right and
// wrong answers have other words, because a model that was never trained learns the form of its answers, too.
func groups(n int) []domain.Example {
	var steps []domain.Step
	var credits []domain.Credit
	for k := range n {
		s, c := domain.Step{Number: k + 1}, domain.Credit{Step: k + 1}
		for agent := range 2 {
			for round, label := range []domain.Label{domain.Negative, domain.Positive} {
				cell := domain.Cell{
					Agent: agent, Round: round, Text: "Messages of agents: scroll down",
					Prompt: fmt.Sprintf("Goal: press the button %d\nagent %d, round %d", k, agent, round),
				}
				if label == domain.Positive {
					cell.Text = fmt.Sprintf("Action: click %d", k+agent)
				}
				s.Decision.Cells, c.Labels = append(s.Decision.Cells, cell), append(c.Labels, label)
			}
		}
		steps, credits = append(steps, s), append(credits, c)
	}
	samples, _ := credit.Samples(credit.Rules{PerEpisode: 4 * n}, credit.Episode{
		Slot: 1, Template: "t", Steps: steps, Credits: credits,
	})

	return samples
}

// checkGRPO compares a policy that was trained from the base model with the base, and the script's loss with the
// formula of docs/method.md.
func checkGRPO(t *testing.T, program string, j trainer.Job, model string, got made) {
	t.Helper()

	python := filepath.Join(filepath.Dir(program), "python")
	tool := &trl.Tool{Python: python}
	base := external.Local{Artifact: domain.Artifact{Kind: domain.ArtifactBase}, Dir: model}
	f := external.Folder{Path: t.TempDir(), Base: base, Start: base, Reference: base}
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
