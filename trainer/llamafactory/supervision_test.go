package llamafactory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/standin"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/llamafactory"
)

func TestMain(m *testing.M) {
	standin.Main()
	os.Exit(m.Run())
}

// host is one GPU host: a folder of its own, the store shared with others.
type host struct {
	*external.Trainer
	points []domain.TrainPoint
}

func newHost(t *testing.T, b store.Bucket) *host {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := standin.Program(dir, self)
	if err != nil {
		t.Fatal(err)
	}
	return &host{Trainer: &external.Trainer{Host: external.Host{Bucket: b, Work: filepath.Join(dir, "work"), Grace: 300 * time.Millisecond, Look: 50 * time.Millisecond,
		Checkpoints: func(job string) string { return job + "-checkpoint-" }}, Tool: &llamafactory.Tool{Bucket: b, Program: program}}}
}

func (h *host) train(ctx context.Context, j trainer.Job) (trainer.Result, error) {
	return h.Train(ctx, j, func(p domain.TrainPoint) { h.points = append(h.points, p) })
}

func options(t *testing.T, change func(*llamafactory.Options)) []byte {
	t.Helper()
	o := llamafactory.DefaultOptions()
	o.Model, o.Devices, o.PerDevice, o.SaveSteps = filepath.Join(t.TempDir(), "base"), 0, 2, 4
	if err := standin.MakeModel(o.Model, 7); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&o)
	}
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}

	return raw
}

// job is an update of 12 optimiser steps.
func job(t *testing.T, change func(*llamafactory.Options)) trainer.Job {
	t.Helper()
	j := trainer.Job{ID: "runs/r/agents/0/job", Objective: trainer.SFT, Seed: 5, Steps: 12, System: "You operate a phone.", Options: options(t, change),
		Params: domain.TrainParams{LearningRate: 1e-3, FinalShare: 1, BatchSize: 4, Passes: 1, Beta: 0.1}}
	for i := range 20 {
		right, wrong := domain.Action{Type: domain.ActionClick}.At(i%3), domain.Action{Type: domain.ActionClick}.At((i+1)%3)
		chosen, err := tinylm.Render(right)
		rejected, err2 := tinylm.Render(wrong)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		j.Pairs = append(j.Pairs, domain.Pair{Slot: i, Prompt: fmt.Sprintf("Goal: press word%d\nHistory: none\nScreen:\n0 button word0\n1 button word1\n2 button word2\n", i%3), Chosen: chosen, Rejected: rejected, Weight: 1})
	}
	return j
}

// TestEveryDeathEndsWithTheSamePolicy: whatever kills the program or the host, the next attempt resumes, and the result is that of the unbroken job.
func TestEveryDeathEndsWithTheSamePolicy(t *testing.T) {
	whole, err := newHost(t, &store.Memory{}).train(t.Context(), job(t, nil))
	if err != nil || whole.Steps != 12 || len(whole.Curve) != 12 || whole.Curve[0].Loss <= whole.Curve[11].Loss {
		t.Fatalf("%+v %v", whole, err)
	}
	for what, want := range map[string]fault.Kind{"kill@6": fault.Transient, "torn@8": fault.Transient, "hang@6": fault.Throttled, "quit@5": fault.Transient, "exit@9=RuntimeError:+NCCL+error": fault.Transient,
		"exit@7=OSError:+[Errno+28]+No+space+left+on+device": fault.Transient, "garbage kill@10": fault.Transient} {
		for _, elsewhere := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s elsewhere=%v", what, elsewhere), func(t *testing.T) {
				t.Setenv(standin.Variable, what)
				b := &store.Memory{}
				h, j := newHost(t, b), job(t, func(o *llamafactory.Options) { o.Stall = 1.0 / 60 })
				got, err := h.train(t.Context(), j)
				if fault.KindOf(err) != want || err == nil {
					t.Fatalf("%+v %v", got, err)
				}
				if elsewhere {
					t.Setenv(standin.Variable, "")
					h = newHost(t, b)
				}
				got, err = h.train(t.Context(), j)
				if err != nil || got.TensorDigest != whole.TensorDigest || fmt.Sprint(got.Curve) != fmt.Sprint(whole.Curve) {
					t.Fatalf("%+v instead of %+v: %v", got, whole, err)
				}
				if first := h.points[0].Step; elsewhere && first != 1 { // told again from the checkpoint's own curve
					t.Errorf("the curve of a host that resumed begins at step %d", first)
				}
			})
		}
	}
}

// TestTheLastCheckpointIsTheEnd: a program that dies behind it, or says nothing of its results, is not started again: it would train on beyond the end.
func TestTheLastCheckpointIsTheEnd(t *testing.T) {
	whole, err := newHost(t, &store.Memory{}).train(t.Context(), job(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"empty", "late"} {
		t.Setenv(standin.Variable, what)
		got, err := newHost(t, &store.Memory{}).train(t.Context(), job(t, nil))
		if err != nil || got.TensorDigest != whole.TensorDigest || got.Steps != 12 || len(got.Curve) != 12 {
			t.Errorf("%s: %+v %v", what, got, err)
		}
	}
}

// TestNobodyOutlivesTheProgram: ranks of torchrun stand in sessions of their own.
func TestNobodyOutlivesTheProgram(t *testing.T) {
	t.Setenv(standin.Variable, "orphan kill@5")
	h := newHost(t, &store.Memory{})
	if _, err := h.train(t.Context(), job(t, nil)); err == nil {
		t.Fatal("it was not killed")
	}
	raw, err := os.ReadFile(filepath.Join(h.Work, "orphan"))
	if err != nil {
		t.Fatal(err)
	}
	if line, err := os.ReadFile(filepath.Join("/proc", string(raw), "cmdline")); err == nil && len(line) > 0 {
		t.Errorf("process %s still runs: %q", raw, line)
	}
}

// TestResumeRepeatsLittle: what was done before the newest checkpoint is not done again.
func TestResumeRepeatsLittle(t *testing.T) {
	t.Setenv(standin.Variable, "kill@11")
	b := &store.Memory{}
	h, j := newHost(t, b), job(t, nil)
	if _, err := h.train(t.Context(), j); err == nil {
		t.Fatal("it was not killed")
	}
	other := newHost(t, b) // never saw the folder
	t.Setenv(standin.Variable, "slow=1")
	got, err := other.train(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	log, err := store.GetBlob(t.Context(), b, got.Report.Log.SHA256)
	if n := strings.Count(string(log), "'step'"); err != nil || n != 12-8 || !strings.Contains(string(log), "Resuming") {
		t.Errorf("%d steps behind the resume from checkpoint 8: %s %v", n, log, err)
	}
}

func TestCancellationStopsTheWholeGroupAndKeepsTheCheckpoint(t *testing.T) {
	t.Setenv(standin.Variable, "slow=100")
	b := &store.Memory{}
	h, j := newHost(t, b), job(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := h.Train(ctx, j, func(p domain.TrainPoint) {
		if p.Step == 6 {
			cancel(fault.New(fault.Transient, "the worker drains"))
		}
	})
	if err == nil || !strings.Contains(err.Error(), "the worker drains") {
		t.Fatal(err)
	}
	if keys, err := b.List(t.Context(), "runs/r/agents/0/job-checkpoint-000004.json"); err != nil || len(keys) != 1 {
		t.Errorf("%v %v", keys, err)
	}
	logs, _ := filepath.Glob(filepath.Join(h.Work, "jobs", "*", "out", "trainer_log.jsonl"))
	size := func() int64 {
		st, err := os.Stat(logs[0])
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	before := size()
	if time.Sleep(500 * time.Millisecond); size() != before {
		t.Error("the program still trains")
	}
	t.Setenv(standin.Variable, "")
	if got, err := newHost(t, b).train(t.Context(), j); err != nil || got.Steps != 12 {
		t.Errorf("%+v %v", got, err)
	}
}

// TestFaultsAreToldApart: what no retry helps is invalid, and says what to do.
func TestFaultsAreToldApart(t *testing.T) {
	for what, want := range map[string]string{
		"exit@2=torch.OutOfMemoryError:+CUDA+out+of+memory.+Tried+to+allocate": "per_device",
		"exit@2=ModuleNotFoundError:+No+module+named+peft":                     "not installed completely",
		"exit@2=SomethingElse": "SomethingElse",
		"drop":                 "trains on 19 rows, it was given 20",
	} {
		t.Run(what, func(t *testing.T) {
			t.Setenv(standin.Variable, what+" slow=300")
			if got, err := newHost(t, &store.Memory{}).train(t.Context(), job(t, nil)); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v %v", got, err)
			}
		})
	}
	h := newHost(t, &store.Memory{})
	h.Tool.(*llamafactory.Tool).Program = "/nowhere/llamafactory-cli"
	if _, err := h.train(t.Context(), job(t, nil)); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "COLLABUI_LLAMAFACTORY") {
		t.Error(err)
	}
	if _, err := newHost(t, &store.Memory{}).train(t.Context(), job(t, func(o *llamafactory.Options) { o.Extra = map[string]string{"bogus": "1"} })); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "does not know a key") {
		t.Error(err)
	}
	if _, err := newHost(t, &store.Memory{}).train(t.Context(), job(t, func(o *llamafactory.Options) { o.Devices = 2; o.PerDevice = 1 })); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "asks for 2 GPUs, this worker has 0") {
		t.Error(err)
	}
	torn := job(t, func(o *llamafactory.Options) {
		if err := os.Truncate(filepath.Join(o.Model, "model.safetensors"), 1000); err != nil {
			t.Fatal(err)
		}
	})
	if _, err := newHost(t, &store.Memory{}).train(t.Context(), torn); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "not whole") {
		t.Error(err)
	}
}

func TestALossThatIsNoNumberKeepsTheParent(t *testing.T) {
	t.Setenv(standin.Variable, "nan@5 slow=100")
	b := &store.Memory{}
	got, err := newHost(t, b).train(t.Context(), job(t, nil))
	if err != nil || got.Digest != "" || got.Diverged != "the loss is not a number at step 5" {
		t.Errorf("%+v %v", got, err)
	}
	if again, err := newHost(t, b).train(t.Context(), job(t, nil)); err != nil || again.Diverged != got.Diverged {
		t.Errorf("%+v %v", again, err)
	}
}

// TestWhatAKilledWorkerLeftIsEnded: the processes below a training program hold a GPU when their worker is gone.
func TestWhatAKilledWorkerLeftIsEnded(t *testing.T) {
	h, other := newHost(t, &store.Memory{}), newHost(t, &store.Memory{})
	left, foreign := exec.Command("sleep", "60"), exec.Command("sleep", "60")
	left.Env, foreign.Env = []string{"COLLABUI_JOB=" + filepath.Join(h.Work, "jobs", "of-old")}, []string{"COLLABUI_JOB=" + filepath.Join(other.Work, "jobs", "of-others")}
	for _, c := range []*exec.Cmd{left, foreign} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.train(t.Context(), job(t, nil)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- left.Wait() }()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it was not killed")
		}
	case <-time.After(5 * time.Second):
		t.Error("it still runs")
		_ = left.Process.Kill()
	}
	if err := foreign.Process.Signal(syscall.Signal(0)); err != nil {
		t.Error("another machine's process was ended", err)
	}
	_ = foreign.Process.Kill()
	_ = foreign.Wait()
}

// TestTwoAttemptsAtOnce on one host take turns, on two hosts agree: the first result stands.
func TestTwoAttemptsAtOnce(t *testing.T) {
	t.Setenv(standin.Variable, "slow=20")
	b := &store.Memory{}
	one, two, j := newHost(t, b), newHost(t, b), job(t, nil)
	type result struct {
		trainer.Result
		error
	}
	results := make(chan result, 3)
	for _, h := range []*external.Trainer{one.Trainer, one.Trainer, two.Trainer} {
		go func() {
			p, err := h.Train(t.Context(), j, func(domain.TrainPoint) {})
			results <- result{p, err}
		}()
	}
	first := <-results
	for range 2 {
		if r := <-results; r.error != nil || r.Digest != first.Digest || first.error != nil {
			t.Errorf("%+v and %+v", r, first)
		}
	}
}

// TestStations: stage 1 asks for a policy behind so many steps, then for a later one of the same job.
func TestStations(t *testing.T) {
	whole, err := newHost(t, &store.Memory{}).train(t.Context(), job(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	b := &store.Memory{}
	j := job(t, nil)
	j.Every, j.Until = 3, 3
	early, err := newHost(t, b).train(t.Context(), j)
	if err != nil || early.Steps != 3 || len(early.Curve) != 3 || early.TensorDigest == whole.TensorDigest {
		t.Fatalf("%+v %v", early, err)
	}
	if keys, err := b.List(t.Context(), "runs/r/agents/0/job-checkpoint-000003.json"); err != nil || len(keys) != 1 {
		t.Errorf("the station is not stored: %v %v", keys, err)
	}
	j.Until = 12
	late, err := newHost(t, b).train(t.Context(), j)
	if err != nil || late.TensorDigest != whole.TensorDigest || math.Abs(late.Curve[2].Loss-early.Curve[2].Loss) > 0 {
		t.Errorf("%+v %v", late, err)
	}
}
