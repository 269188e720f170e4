package trainer_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/llamafactory"
)

// BenchmarkOverTheBareCommand compares DPO through the trainer, from its start to the stored adapter, with the bare
// command and its own start, one after the other, in turn. COLLABUI_BENCH_MODEL is a base model other than the small
// one, and COLLABUI_BENCH_DEVICES its GPUs: on a machine with a GPU, a Qwen2-7B of random weights
// (scripts/make_model.py --shape 7b).
func BenchmarkOverTheBareCommand(b *testing.B) {
	program := os.Getenv("COLLABUI_LLAMAFACTORY")
	if program == "" {
		b.Skip("set COLLABUI_LLAMAFACTORY to a llamafactory-cli")
	}

	o := llamafactory.DefaultOptions()
	o.Model, o.Devices, o.Precision = os.Getenv("COLLABUI_BENCH_MODEL"), 0, "fp32"
	o.Cutoff, o.PerDevice, o.SaveSteps = 2048, 2, 8
	if o.Model == "" {
		o.Model = makeModel(b, program)
	}
	if os.Getenv("COLLABUI_BENCH_DEVICES") != "" {
		o.Devices, o.Precision = 1, "bf16"
	}
	j := benchJob(b, o)

	var ours, bare time.Duration
	for n := range b.N {
		h := host(b, program, &store.Memory{}, j.Options)
		h.Devices = external.NewDevices([]string{"0"})
		through := func() {
			began := time.Now()
			got, err := h.Train(b.Context(), j, silent)
			if err != nil {
				b.Fatal(err)
			}
			ours += time.Since(began)
			b.Logf("%d steps through the trainer: %.1f s", got.Steps, time.Since(began).Seconds())
		}
		alone := func() {
			took := runBare(b, h, j, o)
			bare += took
			b.Logf("by the bare command: %.1f s", took.Seconds())
		}
		if n%2 == 0 {
			alone()
			through()
		} else { // what runs first on a machine may pay for both
			through()
			alone()
		}
	}
	b.ReportMetric(ours.Seconds()/float64(b.N), "s/ours")
	b.ReportMetric(bare.Seconds()/float64(b.N), "s/bare")
	b.ReportMetric(ours.Seconds()/bare.Seconds(), "ours/bare")
}

// benchJob returns an update of 24 optimiser steps.
func benchJob(b *testing.B, o llamafactory.Options) trainer.Job {
	b.Helper()

	j := trainer.Job{
		ID:        "runs/bench/job",
		Objective: trainer.DPO,
		Steps:     24,
		Seed:      3,
		System:    agents.Default.System(),
		Options:   raw(b, o),
		Params: domain.TrainParams{
			LearningRate: 5e-6, Warmup: 0.1, FinalShare: 0.1, BatchSize: 8, Passes: 1, Beta: 0.1, Ftx: 0.1,
		},
	}
	for i := range 64 {
		j.Pairs = append(j.Pairs, domain.Example{
			Prompt: fmt.Sprintf("Goal: press word%d\nHistory: none\nScreen:\n", i) +
				strings.Repeat("0 button some words of a page\n", 30),
			Chosen:   "Reason: this serves the goal.\nAction: {\"action_type\":\"click\",\"index\":0}",
			Rejected: "Reason: this serves the goal.\nAction: {\"action_type\":\"wait\"}",
			Weight:   1,
		})
	}

	return j
}

// runBare runs the same command on the same rendered files in a folder of its own, and returns how long it took.
func runBare(b *testing.B, h *external.Trainer, j trainer.Job, o llamafactory.Options) time.Duration {
	b.Helper()

	model, dir, err := h.Tool.Base(j.Options)
	if err != nil {
		b.Fatal(err)
	}
	base := external.Local{Artifact: domain.Artifact{Kind: domain.ArtifactBase, Base: model}, Dir: dir}
	f := external.Folder{Path: b.TempDir(), Base: base, Start: base, Reference: base}
	cmd, err := h.Tool.Render(b.Context(), f, j)
	if err != nil {
		b.Fatal(err)
	}

	c := exec.Command(cmd.Args[0], cmd.Args[1:]...)
	c.Env = append(os.Environ(), cmd.Env...)
	if o.Devices == 0 {
		c.Env = append(c.Env, "CUDA_VISIBLE_DEVICES=")
	}
	begin := time.Now()
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("the bare command: %v, want success\n%s", err, out[max(0, len(out)-2000):])
	}

	return time.Since(begin)
}
