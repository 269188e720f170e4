package trainer_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/peft"
)

// agentsTogether is the number of adapters of TestRealAdaptersTogether.
const agentsTogether = 3

// TestRealAdaptersTogether trains the adapters of three agents by SFT and by DPO with PEFT, each alone and all in one
// process, where one of them ends early and another joins. Every adapter must be the same. One job is killed halfway
// and resumed on another host. Time and memory of both ways are logged. `make test-llamafactory` runs it.
func TestRealAdaptersTogether(t *testing.T) {
	program := os.Getenv("COLLABUI_LLAMAFACTORY")
	if program == "" {
		t.Skip("set COLLABUI_LLAMAFACTORY to a llamafactory-cli, or run `make test-llamafactory`")
	}
	options := peft.DefaultOptions()
	options.Model = makeModel(t, program)
	options.Cutoff = 512
	options.Devices = 0
	options.PerDevice = 2
	options.Precision = "float32"
	options.SaveSteps = 4
	if given := os.Getenv("COLLABUI_TEST_MODEL"); given != "" { // to measure a larger one
		options.Model = given
	}

	sft := trainer.Job{
		ID: "runs/real/finetune", Objective: trainer.SFT, Pairs: preferences(0), Steps: 12, Seed: 5, System: "s",
		Options: raw(t, options),
		Params: domain.TrainParams{
			LearningRate: 5e-3, FinalShare: 0.1, Warmup: 0.1, BatchSize: 4, Passes: 1, Beta: 0.5, Smoothing: 0.1,
		},
	}
	base := brokenAndWhole(t, program, sft, nil)
	if base.again != base.TensorDigest {
		t.Errorf("the resumed job's parameters are %s, want %s", base.again, base.TensorDigest)
	}
	if c := base.Curve; c[len(c)-1].Loss >= c[0].Loss {
		t.Errorf("the loss of SFT goes from %.4f to %.4f, want it to fall", c[0].Loss, c[len(c)-1].Loss)
	}

	var jobs []trainer.Job
	for agent := range agentsTogether {
		j := sft
		j.ID, j.Objective, j.Pairs = fmt.Sprint("runs/real/agents/", agent), trainer.DPO, preferences(agent)
		j.Start, j.Reference, j.Seed, j.Steps = base.Digest, base.Digest, uint64(agent), 6+2*agent
		jobs = append(jobs, j)
	}
	alone, took, memory := trainAll(t, program, base.from, jobs, false)
	t.Logf("%d processes: %v, %d MB", len(jobs), took, memory>>20)
	options.Together = true
	for i := range jobs {
		jobs[i].Options = raw(t, options)
	}
	together, took, memory := trainAll(t, program, base.from, jobs, true)
	t.Logf("one process: %v, %d MB", took, memory>>20)

	for i := range jobs {
		if together[i].TensorDigest != alone[i].TensorDigest || together[i].TensorDigest == base.TensorDigest {
			t.Errorf("agent %d has the parameters %.12s with others and %.12s alone, want the same, not the base's",
				i, together[i].TensorDigest, alone[i].TensorDigest)
		}
		if first := alone[i].Curve[0]; math.Abs(first.Loss-math.Ln2) > 1e-3 || math.Abs(first.Margin) > 1e-3 {
			t.Errorf("agent %d: step 1 has the loss %g and the margin %g, want ln 2 and 0 of its own reference",
				i, first.Loss, first.Margin)
		}
		if last := alone[i].Curve[len(alone[i].Curve)-1]; last.Margin <= 0 {
			t.Errorf("agent %d: the margin is %g at the end, want it above 0", i, last.Margin)
		}
	}
	sameLoss(t, program, jobs[0], base.from)
}

// preferences returns pairs of an agent.
func preferences(agent int) (out []domain.Example) {
	for i := range 16 {
		out = append(out, domain.Example{
			Prompt: fmt.Sprintf("Goal: press the button %d of agent %d", i, agent), Weight: 1,
			Chosen: fmt.Sprintf("Action: click %d", i%5), Rejected: "Messages of agents: scroll down",
		})
	}

	return out
}

// trainAll runs jobs concurrently on one host, and returns their results, the time, and the most memory that the
// host's programs used together, without what they share.
func trainAll(
	t *testing.T, program string, policies store.Bucket, jobs []trainer.Job, oneProcess bool,
) (out []trainer.Result, took time.Duration, memory int64) {
	t.Helper()
	b := &store.Memory{}
	copyBlobs(t, policies, b)
	h := host(t, program, b, jobs[0].Options)
	out = make([]trainer.Result, len(jobs))
	begin := time.Now()
	var all, look sync.WaitGroup
	ended := make(chan struct{})
	look.Go(func() {
		for {
			used, programs := memoryOf(h.Work)
			memory = max(memory, used)
			if oneProcess && programs > 1 {
				t.Errorf("%d programs train together, want one", programs)
			}
			select {
			case <-ended:
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	})
	for i, j := range jobs {
		all.Go(func() {
			var err error
			if out[i], err = h.Train(t.Context(), j, silent); err != nil {
				t.Errorf("job %d: %v, want a policy", i, err)
			}
		})
	}
	all.Wait()
	took = time.Since(begin).Round(time.Second)
	close(ended)
	look.Wait()
	if t.Failed() {
		t.FailNow()
	}

	return out, took, memory
}

// memoryOf returns the memory that the programs of a host's folder do not share with others, and their number.
func memoryOf(work string) (used int64, programs int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if !bytes.Contains(line, []byte("train.py\x00"+work)) {
			continue
		}
		programs++
		rollup, _ := os.ReadFile(filepath.Join(dir, "smaps_rollup"))
		for l := range strings.SplitSeq(string(rollup), "\n") {
			if fields := strings.Fields(l); len(fields) > 1 && strings.HasPrefix(fields[0], "Private_") {
				n, _ := strconv.ParseInt(fields[1], 10, 64)
				used += n << 10
			}
		}
	}

	return used, programs
}
