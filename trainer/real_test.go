package trainer_test

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/preference"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/llamafactory"
	"github.com/collabui/collabui/trainer/peft"
	"github.com/collabui/collabui/trainer/trl"
)

// tolerance bounds the difference of the loss per step after a resume, in float32.
const tolerance = 1e-3

// TestRealPrograms runs LLaMA-Factory on the CPU: SFT, then DPO of adapters on a small random Qwen2, on data of a run
// in a real browser; then the same DPO with TRL. Each program is killed halfway, resumed on a host that has only the
// store, and compared with the uninterrupted job, loss by loss. `make test-llamafactory` runs it.
func TestRealPrograms(t *testing.T) {
	program := os.Getenv("COLLABUI_LLAMAFACTORY")
	if program == "" {
		t.Skip("set COLLABUI_LLAMAFACTORY to a llamafactory-cli, or run `make test-llamafactory`")
	}
	o := llamafactory.DefaultOptions()
	o.Model, o.Devices, o.Precision = makeModel(t, program), 0, "fp32"
	o.SaveSteps, o.Cutoff, o.PerDevice = 4, 2048, 2
	demos, pairs := dataOfARun(t)
	t.Logf("%d demonstrations and %d preference pairs of a run", len(demos), len(pairs))

	sft := trainer.Job{
		ID:        "runs/real/finetune/stage-1",
		Objective: trainer.SFT,
		Pairs:     demos,
		Steps:     16,
		Seed:      11,
		System:    agents.Default.System(),
		Options:   raw(t, o),
		Params: domain.TrainParams{
			LearningRate: 5e-3, FinalShare: 0.1, BatchSize: 4, Passes: 1, Beta: 0.1, Ftx: 0.1,
		},
	}
	base := brokenAndWhole(t, program, sft, nil)
	if c := base.Curve; c[len(c)-1].Loss >= c[0].Loss {
		t.Errorf("the loss of SFT goes from %.4f to %.4f, want it to fall", c[0].Loss, c[len(c)-1].Loss)
	}

	dpo := sft
	dpo.ID, dpo.Objective, dpo.Pairs = "runs/real/epochs/0001/agents/0/job", trainer.DPO, pairs
	dpo.Start, dpo.Reference = base.Digest, base.Digest
	dpo.Params.LearningRate, dpo.Params.Ftx, dpo.Params.Beta, dpo.Params.Smoothing = 5e-4, 0, 1, 0.1
	after := brokenAndWhole(t, program, dpo, base.from)
	// A policy that is its own reference.
	if got := after.Curve[0].Margin; math.Abs(got) > 1e-3 {
		t.Errorf("margin of step 1 = %g, want 0", got)
	}
	if got := after.Curve[0].Loss; math.Abs(got-math.Ln2) > 1e-3 {
		t.Errorf("loss of step 1 = %g, want ln 2", got)
	}
	t.Logf("%v %v %v", after.Report.Versions, after.Report.Command, after.Report.Metrics)

	other := dpo
	other.ID = "runs/real/epochs/0001/agents/1/job"
	other.Options = raw(t, trl.Options{
		Model: o.Model, Rank: o.Rank, Cutoff: 2048, PerDevice: 2, Precision: "float32", SaveSteps: 4,
	})
	apart := worst(t, brokenAndWhole(t, program, other, base.from).Curve, after.Curve)
	t.Logf("losses of TRL and LLaMA-Factory on the same job differ by at most %g", apart)
	if apart > tolerance {
		t.Errorf("losses of TRL and LLaMA-Factory on the same job differ by %g, want at most %g", apart, tolerance)
	}
	for _, j := range []trainer.Job{dpo, other} {
		sameLoss(t, program, j, base.from)
	}

	long := sft
	o.Cutoff = 128
	long.ID, long.Options = "runs/real/long", raw(t, o)
	_, err := host(t, program, base.from, long.Options).Train(t.Context(), long, silent)
	const want = "longer than trainer.options.cutoff 128"
	if err == nil || fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
		t.Errorf("error of rows over the cutoff = %v, want an invalid fault with %q", err, want)
	}
}

// sameLoss trains on one pair in all rows, where the margin of a step gives its loss, and compares the program's losses
// with those of the embedded trainer's rule.
func sameLoss(t *testing.T, program string, j trainer.Job, policies store.Bucket) {
	t.Helper()

	j.ID += "-same"
	j.Pairs = slices.Repeat(j.Pairs[:1], 4*j.Params.BatchSize)
	j.Params.LearningRate = 5e-3 // far enough that smoothing counts
	b := &store.Memory{}
	copyBlobs(t, policies, b)
	got, err := host(t, program, b, j.Options).Train(t.Context(), j, silent)
	if err != nil {
		t.Fatal(err)
	}

	name, rule := got.Report.Command[0], preference.RuleOf(j.Params)
	highest := 0.0
	for _, p := range got.Curve {
		apart := preference.Answers{p.Margin / rule.Beta, 0}
		want, _, _ := rule.Pair(apart, preference.Answers{}, preference.Answers{1, 1})
		if math.Abs(p.Loss-want) > tolerance {
			t.Errorf("%s: loss of step %d with margin %g = %g, want %g", name, p.Step, p.Margin, p.Loss, want)
		}
		highest = max(highest, p.Margin)
	}
	if highest < 1 {
		t.Errorf("%s: the highest margin is %g, want at least 1, where smoothing counts", name, highest)
	}
	t.Logf("%s: %d losses follow the embedded rule, up to a margin of %g", name, len(got.Curve), highest)
}

// makeModel makes the small random Qwen2.
func makeModel(t testing.TB, program string) string {
	t.Helper()

	model := filepath.Join(t.TempDir(), "qwen2")
	python := filepath.Join(filepath.Dir(program), "python")
	out, err := exec.Command(python, "../scripts/make_model.py", model).CombinedOutput()
	if err != nil {
		t.Fatalf("make_model.py: %v, want a model\n%s", err, out)
	}

	return model
}

// raw returns options as specifications store them.
func raw(t testing.TB, options any) json.RawMessage {
	t.Helper()

	out, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// made is a result, and the store that holds its policy.
type made struct {
	trainer.Result
	from  store.Bucket
	again string // digest of the parameters after a kill and a resume
}

// host returns a machine with a folder of its own. The store is shared.
func host(t testing.TB, program string, b store.Bucket, options []byte) *external.Trainer {
	t.Helper()

	h := &external.Trainer{
		Host: external.Host{
			Bucket:      b,
			Work:        t.TempDir(),
			Checkpoints: func(job string) string { return job + "-checkpoint-" },
		},
		Tool: &llamafactory.Tool{Bucket: b, Program: program},
	}
	python := filepath.Join(filepath.Dir(program), "python")
	switch {
	case strings.Contains(string(options), `"together"`):
		h.Tool = &peft.Tool{Python: python}
	case !strings.Contains(string(options), `"template"`):
		h.Tool = &trl.Tool{Python: python}
	}

	return h
}

func silent(domain.TrainPoint) {}

// brokenAndWhole runs a job without interruption, and once more killed by kill -9 halfway and resumed on another host,
// and compares the results.
func brokenAndWhole(t *testing.T, program string, j trainer.Job, policies store.Bucket) made {
	t.Helper()

	stores := [2]*store.Memory{{}, {}}
	for _, b := range stores {
		copyBlobs(t, policies, b)
	}
	whole, err := host(t, program, stores[0], j.Options).Train(t.Context(), j, silent)
	if err != nil {
		t.Fatal(err)
	}

	killed := trainAndKill(t, program, j, stores[1])
	keys, err := stores[1].List(t.Context(), j.ID+"-checkpoint-")
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) == 0 {
		t.Fatal("the store has no checkpoint of before the kill, want one")
	}

	got, err := host(t, program, stores[1], j.Options).Train(t.Context(), j, silent)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Curve) != j.Steps {
		t.Errorf("%s: %d steps after the resume, want %d", j.Objective, len(got.Curve), j.Steps)
	}
	apart := worst(t, got.Curve, whole.Curve)
	if apart > tolerance {
		t.Errorf("%s: losses differ by %g, want at most %g", j.Objective, apart, tolerance)
	}
	log, err := store.GetBlob(t.Context(), stores[1], got.Report.Log.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	if !resumed(string(log), j.Steps) {
		t.Errorf("the log does not show a resume, want one\n%s", log[max(0, len(log)-3000):])
	}
	t.Logf("%s: %s: killed at step %d, %d checkpoints stored, resumed elsewhere; %d losses differ by at most %g, "+
		"loss %.4f to %.4f, equal tensors: %v", whole.Report.Command[0], j.Objective, killed, len(keys), len(got.Curve),
		apart, whole.Curve[0].Loss, whole.Curve[len(whole.Curve)-1].Loss, got.TensorDigest == whole.TensorDigest)

	return made{Result: whole, from: stores[0], again: got.TensorDigest}
}

// trainAndKill kills the program of a job after its sixth step, and returns the step.
func trainAndKill(t *testing.T, program string, j trainer.Job, b store.Bucket) (killed int) {
	t.Helper()

	h := host(t, program, b, j.Options)
	_, err := h.Train(t.Context(), j, func(p domain.TrainPoint) {
		if p.Step >= 6 && killed == 0 {
			killed = p.Step
			killGroup(t, h.Work)
		}
	})
	if err == nil || fault.KindOf(err) != fault.Transient {
		t.Fatalf("error of the killed job = %v, want a transient fault", err)
	}

	return killed
}

// worst returns the largest difference of the losses of two curves.
func worst(t *testing.T, got, want []domain.TrainPoint) float64 {
	t.Helper()

	if len(got) != len(want) {
		t.Fatalf("the curve has %d points, want %d", len(got), len(want))
	}
	apart := 0.0
	for i, p := range want {
		if got[i].Step != p.Step {
			t.Fatalf("point %d is of step %d, want %d", i, got[i].Step, p.Step)
		}
		apart = max(apart, math.Abs(got[i].Loss-p.Loss))
	}

	return apart
}

// resumed reports whether a program's output shows that it did not start again; equal losses alone would not.
// LLaMA-Factory and the script for PEFT say so. The script for TRL prints a line per step.
func resumed(log string, steps int) bool {
	n := strings.Count(log, "'grad_norm'")

	return strings.Contains(log, "Resuming training from") || n > 0 && n < steps-2
}

// killGroup kills the program that works in a folder, with its whole process group.
func killGroup(t *testing.T, work string) {
	t.Helper()

	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		line, _ := os.ReadFile(filepath.Join(d, "cmdline"))
		if !strings.Contains(string(line), work) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(d))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(-pid, syscall.SIGKILL); err == nil {
			return
		}
	}
	t.Errorf("no program works in %s, want one to kill", work)
}

// copyBlobs copies all blobs of a store; from may be nil.
func copyBlobs(t *testing.T, from, to store.Bucket) {
	t.Helper()

	if from == nil {
		return
	}
	blobs, err := from.List(t.Context(), store.BlobPrefix)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range blobs {
		raw, err := from.Get(t.Context(), x.Key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := to.PutOnce(t.Context(), x.Key, raw); err != nil {
			t.Fatal(err)
		}
	}
}
