package llamafactory_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/standin"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/llamafactory"
)

// TestEveryDeathEndsWithTheSamePolicy: whatever kills the program or the host, the next attempt resumes, and its result
// is that of the uninterrupted job.
func TestEveryDeathEndsWithTheSamePolicy(t *testing.T) {
	whole := mustTrain(t, &store.Memory{}, job(t, nil))
	if len(whole.Curve) != 12 {
		t.Fatalf("the curve has %d points, want 12", len(whole.Curve))
	}
	if first, last := whole.Curve[0].Loss, whole.Curve[11].Loss; last >= first {
		t.Fatalf("the loss goes from %v to %v, want it to fall", first, last)
	}

	for what, want := range map[string]fault.Kind{
		"kill@6":                          fault.Transient,
		"torn@8":                          fault.Transient,
		"hang@6":                          fault.Throttled,
		"quit@5":                          fault.Transient,
		"exit@9=RuntimeError:+NCCL+error": fault.Transient,
		"exit@7=OSError:+[Errno+28]+No+space+left+on+device": fault.Transient,
		"garbage kill@10": fault.Transient,
	} {
		for _, elsewhere := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s elsewhere=%v", what, elsewhere), func(t *testing.T) {
				t.Setenv(standin.Variable, what)
				b := &store.Memory{}
				h := newHost(t, b)
				j := job(t, func(o *llamafactory.Options) {
					if want == fault.Throttled {
						o.Stall = 5.0 / 60 // on a busy machine, a program that works is silent for more than a second
					}
				})

				_, err := h.train(t.Context(), j)
				if err == nil {
					t.Fatalf("the first attempt succeeded, want a fault of kind %s", want)
				}
				if got := fault.KindOf(err); got != want {
					t.Fatalf("kind of the fault = %s, want %s: %v", got, want, err)
				}

				if elsewhere {
					t.Setenv(standin.Variable, "")
					h = newHost(t, b)
				}
				got, err := h.train(t.Context(), j)
				if err != nil {
					t.Fatal(err)
				}
				wantWhole(t, got, whole)

				// The checkpoint holds the curve before it.
				if first := h.points[0].Step; elsewhere && first != 1 {
					t.Errorf("the curve of a host that resumed begins at step %d, want 1", first)
				}
			})
		}
	}
}

// TestTheLastCheckpointIsTheEnd: a program that dies after it, or does not write its results, is not started again. It
// would train beyond the end.
func TestTheLastCheckpointIsTheEnd(t *testing.T) {
	whole := mustTrain(t, &store.Memory{}, job(t, nil))

	for _, what := range []string{"empty", "late"} {
		t.Run(what, func(t *testing.T) {
			t.Setenv(standin.Variable, what)
			wantWhole(t, mustTrain(t, &store.Memory{}, job(t, nil)), whole)
		})
	}
}

// TestNobodyOutlivesTheProgram: ranks of torchrun run in sessions of their own.
func TestNobodyOutlivesTheProgram(t *testing.T) {
	t.Setenv(standin.Variable, "orphan kill@5")
	h := newHost(t, &store.Memory{})
	if _, err := h.train(t.Context(), job(t, nil)); err == nil {
		t.Fatal("the job succeeded, want its program killed")
	}

	pid, err := os.ReadFile(filepath.Join(h.Work, "orphan"))
	if err != nil {
		t.Fatal(err)
	}
	line, err := os.ReadFile(filepath.Join("/proc", string(pid), "cmdline"))
	if err == nil && len(line) > 0 {
		t.Errorf("process %s still runs %q, want it killed", pid, line)
	}
}

// TestResumeRepeatsLittle: what was done before the newest checkpoint is not done again.
func TestResumeRepeatsLittle(t *testing.T) {
	t.Setenv(standin.Variable, "kill@11")
	b, j := &store.Memory{}, job(t, nil)
	if _, err := newHost(t, b).train(t.Context(), j); err == nil {
		t.Fatal("the job succeeded, want its program killed")
	}

	t.Setenv(standin.Variable, "slow=1")
	got := mustTrain(t, b, j)

	log, err := store.GetBlob(t.Context(), b, got.Report.Log.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(log), "'step'"); n != 12-8 {
		t.Errorf("%d steps after the resume from checkpoint 8, want %d: %s", n, 12-8, log)
	}
	if !strings.Contains(string(log), "Resuming") {
		t.Errorf("the log does not say that the program resumed, want it to: %s", log)
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
		t.Fatalf("error = %v, want the cause of the cancellation", err)
	}
	wantCheckpoint(t, b, 4)

	size := func() int64 {
		logs, err := filepath.Glob(filepath.Join(h.Work, "jobs", "*", "out", "trainer_log.jsonl"))
		if err != nil || len(logs) != 1 {
			t.Fatalf("logs = %v (%v), want one", logs, err)
		}
		st, err := os.Stat(logs[0])
		if err != nil {
			t.Fatal(err)
		}

		return st.Size()
	}
	before := size()
	time.Sleep(500 * time.Millisecond)
	if after := size(); after != before {
		t.Errorf("the log grew from %d to %d bytes, want the program stopped", before, after)
	}

	t.Setenv(standin.Variable, "")
	if got := mustTrain(t, b, j); got.Steps != 12 {
		t.Errorf("%d steps, want 12", got.Steps)
	}
}

func TestALossThatIsNotANumberKeepsTheParent(t *testing.T) {
	t.Setenv(standin.Variable, "nan@5 slow=100")
	b := &store.Memory{}
	const want = "the loss is not a number at step 5"

	for _, attempt := range []string{"first", "second"} {
		got := mustTrain(t, b, job(t, nil))
		if got.Digest != "" {
			t.Errorf("%s attempt: policy %s, want none", attempt, got.Digest)
		}
		if got.Diverged != want {
			t.Errorf("%s attempt: diverged = %q, want %q", attempt, got.Diverged, want)
		}
	}
}

// TestWhatAKilledWorkerLeftIsEnded: the processes below a training program hold a GPU after their worker is gone.
func TestWhatAKilledWorkerLeftIsEnded(t *testing.T) {
	h, other := newHost(t, &store.Memory{}), newHost(t, &store.Memory{})
	left := sleeper(t, filepath.Join(h.Work, "jobs", "of-old"))
	foreign := sleeper(t, filepath.Join(other.Work, "jobs", "of-others"))
	if _, err := h.train(t.Context(), job(t, nil)); err != nil {
		t.Fatal(err)
	}

	ended := make(chan error, 1)
	go func() { ended <- left.Wait() }()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the process that was left ended by itself, want it killed")
		}
	case <-time.After(5 * time.Second):
		t.Error("the process that was left still runs, want it killed")
	}
	if err := foreign.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process of another machine: %v, want it alone", err)
	}
}

// sleeper starts a process that belongs to a job's folder.
func sleeper(t *testing.T, folder string) *exec.Cmd {
	t.Helper()

	c := exec.Command("sleep", "60")
	c.Env = []string{"COLLABUI_JOB=" + folder}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})

	return c
}

// TestTwoAttemptsAtOnce: attempts on one host take turns, attempts on two hosts agree. The first result is recorded.
func TestTwoAttemptsAtOnce(t *testing.T) {
	t.Setenv(standin.Variable, "slow=20")
	b := &store.Memory{}
	one, two, j := newHost(t, b), newHost(t, b), job(t, nil)

	var g errgroup.Group
	results := make([]trainer.Result, 3)
	for i, h := range []*external.Trainer{one.Trainer, one.Trainer, two.Trainer} {
		g.Go(func() (err error) {
			results[i], err = h.Train(t.Context(), j, func(domain.TrainPoint) {})

			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}

	for i, r := range results {
		if r.Digest != results[0].Digest {
			t.Errorf("attempt %d: policy %s, want %s", i, r.Digest, results[0].Digest)
		}
	}
}

// held is a store whose first upload takes until its context ends.
type held struct {
	*store.Memory
	begun, abandoned atomic.Bool
}

func (h *held) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	if store.IsBlob(key) && !h.begun.Swap(true) {
		select {
		case <-ctx.Done():
			h.abandoned.Store(true)

			return false, context.Cause(ctx)
		case <-time.After(10 * time.Second):
		}
	}

	return h.Memory.PutOnce(ctx, key, body)
}

// TestAFinishedJobWaitsForNoCheckpoint: a checkpoint that is on its way to the store when the program ends is
// abandoned, and that of the last step is not stored at all. The policy is, which is all that a finished job needs.
func TestAFinishedJobWaitsForNoCheckpoint(t *testing.T) {
	t.Setenv(standin.Variable, "slow=150") // milliseconds of a step: the host sees every checkpoint
	b := &held{Memory: &store.Memory{}}
	if got := mustTrain(t, b, job(t, nil)); got.Digest == "" || got.Steps != 12 {
		t.Errorf("policy %q after %d steps, want one after 12", got.Digest, got.Steps)
	}
	if !b.abandoned.Load() {
		t.Error("the upload of a checkpoint was waited for after the program had ended, want it abandoned")
	}

	free := &store.Memory{}
	mustTrain(t, free, job(t, nil))
	wantCheckpoint(t, free, 8)
	if last, err := free.List(t.Context(), jobID+"-checkpoint-000012"); err != nil || len(last) > 0 {
		t.Errorf("the store has %d checkpoints of the last step (%v), want none", len(last), err)
	}
}

// TestStations: stage 1 asks for the policy after some steps, then for a later one of the same job.
func TestStations(t *testing.T) {
	whole := mustTrain(t, &store.Memory{}, job(t, nil))
	b, j := &store.Memory{}, job(t, nil)

	j.Every, j.Until = 3, 3
	early := mustTrain(t, b, j)
	if early.Steps != 3 || len(early.Curve) != 3 {
		t.Fatalf("%d steps and %d points, want 3 and 3", early.Steps, len(early.Curve))
	}
	if early.TensorDigest == whole.TensorDigest {
		t.Errorf("tensor digest = %s, want another than after 12 steps", early.TensorDigest)
	}
	wantCheckpoint(t, b, 3)

	j.Until = 12
	late := mustTrain(t, b, j)
	wantWhole(t, late, whole)
	if late.Curve[2].Loss != early.Curve[2].Loss {
		t.Errorf("loss of step 3 = %v, want %v as before", late.Curve[2].Loss, early.Curve[2].Loss)
	}
}
