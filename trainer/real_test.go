package trainer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/webtasks"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/llamafactory"
	"github.com/collabui/collabui/trainer/trl"
)

// tolerance of the loss per step behind a resume, in float32.
const tolerance = 1e-3

// TestRealPrograms runs LLaMA-Factory on the CPU: SFT then DPO of adapters on a small random Qwen2, on data of a run in a real browser; then the same DPO with TRL. Each is killed in its
// middle, resumed on a host that has only the store, and compared with the unbroken job, loss by loss. `make test-llamafactory` runs it.
func TestRealPrograms(t *testing.T) {
	program := os.Getenv("COLLABUI_LLAMAFACTORY")
	if program == "" {
		t.Skip("set COLLABUI_LLAMAFACTORY to a llamafactory-cli, or run `make test-llamafactory`")
	}
	model := filepath.Join(t.TempDir(), "qwen2")
	if out, err := exec.Command(filepath.Join(filepath.Dir(program), "python"), "llamafactory/testdata/make_model.py", model).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	o := llamafactory.DefaultOptions()
	o.Model, o.Devices, o.Precision, o.SaveSteps, o.Cutoff, o.PerDevice = model, 0, "fp32", 4, 2048, 2
	demos, pairs := dataOfARun(t)
	t.Logf("%d demonstrations and %d preference pairs of a run", len(demos), len(pairs))
	sft := trainer.Job{ID: "runs/real/finetune/stage-1", Objective: trainer.SFT, Pairs: demos, Steps: 16, Seed: 11, System: agents.Default.System(), Options: raw(o),
		Params: domain.TrainParams{LearningRate: 5e-3, FinalShare: 0.1, BatchSize: 4, Passes: 1, Beta: 0.1, Ftx: 0.1}}
	base := brokenAndWhole(t, program, sft, nil)
	if c := base.Curve; c[len(c)-1].Loss >= c[0].Loss {
		t.Errorf("SFT does not learn: loss %.4f to %.4f", c[0].Loss, c[len(c)-1].Loss)
	}
	dpo := sft
	dpo.ID, dpo.Objective, dpo.Pairs, dpo.Start, dpo.Reference, dpo.Params.LearningRate, dpo.Params.Ftx = "runs/real/epochs/0001/agents/0/job", trainer.DPO, pairs, base.Digest, base.Digest, 5e-4, 0
	after := brokenAndWhole(t, program, dpo, base.from)
	if m := math.Abs(after.Curve[0].Margin); m > 1e-3 || math.Abs(after.Curve[0].Loss-math.Ln2) > 1e-3 {
		t.Errorf("step 1: margin %g and loss %g; a policy that is its own reference has 0 and ln 2", m, after.Curve[0].Loss)
	}
	for k, v := range after.Report.Versions {
		t.Logf("%s %s", k, v)
	}
	t.Logf("%v %v", after.Report.Command, after.Report.Metrics)

	other := dpo
	other.ID, other.Options = "runs/real/epochs/0001/agents/1/job", raw(trl.Options{Model: model, Rank: o.Rank, Cutoff: 2048, PerDevice: 2, Precision: "float32", SaveSteps: 4})
	apart := 0.0
	for i, p := range brokenAndWhole(t, program, other, base.from).Curve {
		apart = max(apart, math.Abs(p.Loss-after.Curve[i].Loss))
	}
	t.Logf("losses of TRL and LLaMA-Factory on the same job, at worst %g apart", apart)

	long := sft
	o.Cutoff = 128
	long.ID, long.Options = "runs/real/long", raw(o)
	if _, err := host(t, program, base.from, long.Options).Train(t.Context(), long, silent); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "more than trainer.options.cutoff 128") {
		t.Errorf("rows over the cut-off: %v", err)
	}
}

type made struct {
	trainer.Result
	from store.Bucket // where it stands
}

// raw returns options as specifications store them.
func raw(options any) json.RawMessage {
	out, err := json.Marshal(options)
	if err != nil {
		panic(err) // options are plain values
	}

	return out
}

// host is a machine of its own that shares the store.
func host(t testing.TB, program string, b store.Bucket, options []byte) *external.Trainer {
	h := &external.Trainer{Host: external.Host{Bucket: b, Work: t.TempDir(), Checkpoints: func(job string) string { return job + "-checkpoint-" }}, Tool: &llamafactory.Tool{Bucket: b, Program: program}}
	if !strings.Contains(string(options), `"template"`) {
		h.Tool = &trl.Tool{Python: filepath.Join(filepath.Dir(program), "python")}
	}
	return h
}

func silent(domain.TrainPoint) {}

// brokenAndWhole runs a job unbroken, and once more killed by kill -9 in its middle and resumed on another host, and compares them.
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
	first := host(t, program, stores[1], j.Options)
	killed := 0
	_, err = first.Train(t.Context(), j, func(p domain.TrainPoint) {
		if p.Step >= 6 && killed == 0 {
			killed = p.Step
			killGroup(t, first.Work)
		}
	})
	if err == nil || fault.KindOf(err) != fault.Transient {
		t.Fatalf("the killed job: %v", err)
	}
	keys, err := stores[1].List(t.Context(), j.ID+"-checkpoint-")
	if err != nil || len(keys) == 0 {
		t.Fatalf("no checkpoint was stored before the kill: %v", err)
	}
	got, err := host(t, program, stores[1], j.Options).Train(t.Context(), j, silent)
	if err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	for i, p := range whole.Curve {
		if got.Curve[i].Step != p.Step {
			t.Fatalf("step %d stands for step %d", got.Curve[i].Step, p.Step)
		}
		worst = max(worst, math.Abs(got.Curve[i].Loss-p.Loss))
	}
	if len(got.Curve) != j.Steps || len(whole.Curve) != j.Steps || worst > tolerance {
		t.Errorf("%s: %d steps, at worst %g apart", j.Objective, len(got.Curve), worst)
	}
	log, err := store.GetBlob(t.Context(), stores[1], got.Report.Log.SHA256)
	if err != nil || !resumed(string(log), j.Steps) {
		t.Errorf("the log of the last attempt does not show that it resumed: %v\n%s", err, log[max(0, len(log)-3000):])
	}
	t.Logf("%s: %s: killed at step %d, %d checkpoints stored, resumed elsewhere; %d losses at worst %g apart, loss %.4f to %.4f, equal tensors: %v", whole.Report.Command[0], j.Objective, killed, len(keys), len(got.Curve), worst,
		whole.Curve[0].Loss, whole.Curve[len(whole.Curve)-1].Loss, got.TensorDigest == whole.TensorDigest)
	return made{whole, stores[0]}
}

// resumed tells from a program's words that it did not begin anew: equal losses alone would not show it. LLaMA-Factory says so; the script for TRL prints a line per step.
func resumed(log string, steps int) bool {
	n := strings.Count(log, "'rewards/margins'")
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
	t.Error("there is no program to kill")
}

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
		if err == nil {
			_, err = to.PutOnce(t.Context(), x.Key, raw)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// dataOfARun plays a small run in a real browser and gives what its stage 1 and its first epoch trained on.
func dataOfARun(t *testing.T) (demos, pairs []domain.Pair) {
	t.Helper()
	s := testrun.Small()
	s.Epochs, s.FineTune.Demonstrations, s.FineTune.MaxChunks, s.Evaluation.Val, s.Evaluation.TestSeeds, s.Evaluation.TestTemplates = 1, 40, 3, 4, 0, 0
	r := testrun.New(t, s)
	suite, err := webtasks.New(1, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = suite.Close() })
	r.Deps.Suites = map[string]envadapters.Suite{"webtasks": suite}
	if _, err := r.Play(t, nil); err != nil {
		t.Fatal(err)
	}
	for i := range s.FineTune.Demonstrations {
		d, _, err := runs.Run(s.Name).Demonstration(i).Read(context.Background(), r.Bucket)
		if err != nil {
			t.Fatal(err)
		}
		demos = append(demos, d.Pairs...)
	}
	for slot := 1; slot <= s.Slots; slot++ {
		p, _, err := runs.Run(s.Name).Pairs(1, slot).Read(context.Background(), r.Bucket)
		if err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, p.Pairs...)
	}
	if len(demos) < 16 || len(pairs) < 16 {
		t.Fatal(fmt.Sprintf("only %d demonstrations and %d pairs", len(demos), len(pairs)))
	}
	return demos, pairs
}

// BenchmarkOverTheBareCommand compares DPO through the trainer, from its start to the committed adapter, with the bare command and its own start, one after the other. COLLABUI_BENCH_MODEL
// names another base model than the small one, COLLABUI_BENCH_DEVICES its GPUs: on a machine with a GPU, a Qwen2-7B of random weights (make_model.py --shape 7b).
func BenchmarkOverTheBareCommand(b *testing.B) {
	program := os.Getenv("COLLABUI_LLAMAFACTORY")
	if program == "" {
		b.Skip("set COLLABUI_LLAMAFACTORY to a llamafactory-cli")
	}
	o := llamafactory.DefaultOptions()
	o.Model, o.Devices, o.Precision, o.Cutoff, o.PerDevice, o.SaveSteps = os.Getenv("COLLABUI_BENCH_MODEL"), 0, "fp32", 2048, 2, 8
	if o.Model == "" {
		o.Model = filepath.Join(b.TempDir(), "qwen2")
		if out, err := exec.Command(filepath.Join(filepath.Dir(program), "python"), "llamafactory/testdata/make_model.py", o.Model).CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	if n := os.Getenv("COLLABUI_BENCH_DEVICES"); n != "" {
		o.Devices, o.Precision = 1, "bf16"
	}
	j := trainer.Job{ID: "runs/bench/job", Objective: trainer.DPO, Steps: 24, Seed: 3, System: agents.Default.System(), Options: raw(o),
		Params: domain.TrainParams{LearningRate: 5e-6, Warmup: 0.1, FinalShare: 0.1, BatchSize: 8, Passes: 1, Beta: 0.1, Ftx: 0.1}}
	for i := range 64 {
		j.Pairs = append(j.Pairs, domain.Pair{Prompt: fmt.Sprintf("Goal: press word%d\nHistory: none\nScreen:\n", i) + strings.Repeat("0 button some words of a page\n", 30), Chosen: "Reason: this serves the goal.\nAction: {\"action_type\":\"click\",\"index\":0}",
			Rejected: "Reason: this serves the goal.\nAction: {\"action_type\":\"wait\"}", Weight: 1})
	}
	var ours, bare time.Duration
	for range b.N {
		h := host(b, program, &store.Memory{}, j.Options)
		h.Devices = external.NewDevices([]string{"0"})
		begin := time.Now()
		got, err := h.Train(b.Context(), j, silent)
		if err != nil {
			b.Fatal(err)
		}
		ours += time.Since(begin)
		// the same command on the same rendered files, in a folder of its own
		f := external.Folder{Path: b.TempDir()}
		model, dir, err := h.Tool.Base(j.Options)
		if err != nil {
			b.Fatal(err)
		}
		f.Base = external.Local{Artifact: domain.Artifact{Kind: domain.ArtifactBase, Base: model}, Dir: dir}
		f.Start, f.Reference = f.Base, f.Base
		cmd, err := h.Tool.Render(b.Context(), f, j)
		if err != nil {
			b.Fatal(err)
		}
		c := exec.Command(cmd.Args[0], cmd.Args[1:]...)
		c.Env = append(os.Environ(), cmd.Env...)
		if o.Devices == 0 {
			c.Env = append(c.Env, "CUDA_VISIBLE_DEVICES=")
		}
		begin = time.Now()
		if out, err := c.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out[max(0, len(out)-2000):])
		}
		bare += time.Since(begin)
		b.Logf("%d steps, ours %v, bare %v", got.Steps, ours, bare)
	}
	b.ReportMetric(ours.Seconds()/float64(b.N), "s/ours")
	b.ReportMetric(bare.Seconds()/float64(b.N), "s/bare")
	b.ReportMetric(ours.Seconds()/bare.Seconds(), "ours/bare")
}
