package llamafactory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
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

// host is one GPU host. It has a folder of its own, and shares the store with others.
type host struct {
	*external.Trainer
	tool   *llamafactory.Tool
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

	tool := &llamafactory.Tool{Bucket: b, Program: program}

	return &host{tool: tool, Trainer: &external.Trainer{Tool: tool, Host: external.Host{
		Bucket:      b,
		Work:        filepath.Join(dir, "work"),
		Grace:       300 * time.Millisecond,
		Look:        50 * time.Millisecond,
		Checkpoints: func(job string) string { return job + "-checkpoint-" },
	}}}
}

func (h *host) train(ctx context.Context, j trainer.Job) (trainer.Result, error) {
	return h.Train(ctx, j, func(p domain.TrainPoint) { h.points = append(h.points, p) })
}

// mustTrain runs a job that has to succeed on a host of its own.
func mustTrain(t *testing.T, b store.Bucket, j trainer.Job) trainer.Result {
	t.Helper()

	got, err := newHost(t, b).train(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}

	return got
}

// options returns the options of a small model on the CPU.
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

// jobID is also the prefix of the job's checkpoints.
const jobID = "runs/r/agents/0/job"

// job returns an update of 12 optimiser steps.
func job(t *testing.T, change func(*llamafactory.Options)) trainer.Job {
	t.Helper()

	j := trainer.Job{
		ID:        jobID,
		Objective: trainer.SFT,
		Seed:      5,
		Steps:     12,
		System:    "You operate a phone.",
		Options:   options(t, change),
		Params:    domain.TrainParams{LearningRate: 1e-3, FinalShare: 1, BatchSize: 4, Passes: 1, Beta: 0.1},
	}
	for i := range 20 {
		prompt := fmt.Sprintf("Goal: press word%d\nHistory: none\nScreen:\n"+
			"0 button word0\n1 button word1\n2 button word2\n", i%3)
		j.Pairs = append(j.Pairs, domain.Example{
			Slot:     i,
			Prompt:   prompt,
			Chosen:   click(t, i%3),
			Rejected: click(t, (i+1)%3),
			Weight:   1,
		})
	}

	return j
}

// click returns the answer that clicks on an element.
func click(t *testing.T, index int) string {
	t.Helper()

	text, err := tinylm.Render(domain.Action{Type: domain.ActionClick}.At(index))
	if err != nil {
		t.Fatal(err)
	}

	return text
}

// wantCheckpoint checks that the store has the job's checkpoint of a step.
func wantCheckpoint(t *testing.T, b store.Bucket, step int) {
	t.Helper()

	key := fmt.Sprintf("%s-checkpoint-%06d.json", jobID, step)
	found, err := b.List(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 {
		t.Errorf("the store has %d objects %s, want 1", len(found), key)
	}
}

// wantWhole checks that a result is that of a job that nothing interrupted.
func wantWhole(t *testing.T, got, whole trainer.Result) {
	t.Helper()

	if got.Steps != whole.Steps {
		t.Errorf("%d steps, want %d", got.Steps, whole.Steps)
	}
	if got.TensorDigest != whole.TensorDigest {
		t.Errorf("tensor digest = %s, want %s", got.TensorDigest, whole.TensorDigest)
	}
	if a, b := fmt.Sprint(got.Curve), fmt.Sprint(whole.Curve); a != b {
		t.Errorf("curve = %s, want %s", a, b)
	}
}
