// Package testrun plays whole runs in one process for tests: the real workflows and activities over a bucket in memory, the scripted environment and
// a small policy behind real HTTP. Only tests import it.
package testrun

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/policy/tinyserver"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/tiny"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// Run is one run in memory.
type Run struct {
	Spec   spec.Spec
	Bucket *store.Memory
	Suite  *scripted.Suite
	Deps   *activities.Deps
}

// Small is a specification that a test plays in seconds.
func Small() spec.Spec {
	s := spec.Default()
	s.Name, s.Epochs, s.Slots, s.Rounds = "small", 2, 10, 2
	s.FineTune.Demonstrations, s.FineTune.MaxChunks, s.FineTune.ChunkSteps, s.FineTune.Train.Passes = 40, 3, 20, 10
	s.FineTune.StopLow = 0.2
	s.Pairs.Kind, s.Pairs.MinPairs, s.Train.BatchSize, s.Train.Passes = spec.PairsCorrection, 4, 4, 1
	s.Evaluation.Val, s.Evaluation.TestSeeds, s.Evaluation.TestTemplates = 8, 6, 4
	return s
}

// Tiny is Small with hardly any learning: for tests of what happens around it.
func Tiny() spec.Spec {
	s := Small()
	s.Epochs, s.Slots = 1, 5
	s.FineTune.Demonstrations, s.FineTune.MaxChunks, s.FineTune.ChunkSteps = 10, 1, 5
	s.Evaluation.Val, s.Evaluation.TestSeeds, s.Evaluation.TestTemplates = 2, 0, 0
	return s
}

// New prepares a run.
func New(t testing.TB, s spec.Spec) *Run {
	t.Helper()
	r := &Run{Spec: s, Bucket: &store.Memory{}, Suite: &scripted.Suite{}}
	srv := httptest.NewServer(tinyserver.New(r.Bucket))
	t.Cleanup(srv.Close)
	model, err := llm.PolicyServers([]string{srv.URL + "/v1"}, "", 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	r.Deps = &activities.Deps{Bucket: r.Bucket, Chat: model, Load: model.Load, Suites: map[string]envadapters.Suite{"webtasks": r.Suite}, Render: tinylm.Render, Fits: tinylm.Fits, Threads: 1,
		Catalog:  catalog.All{},
		Trainers: map[string]trainer.Trainer{spec.Embedded: &tiny.Trainer{Bucket: r.Bucket, CheckpointKey: func(job string, step int) string { return fmt.Sprintf("%s-checkpoint-%06d.json", job, step) }}}}
	if _, _, err := runs.Run(s.Name).Spec().Record(t.Context(), r.Bucket, func() (spec.Spec, error) { return s, nil }); err != nil {
		t.Fatal(err)
	}
	return r
}

// Play runs the workflow to its end, through every continue-as-new. more may prepare each environment.
func (r *Run) Play(t testing.TB, more func(*testsuite.TestWorkflowEnvironment)) (runs.End, error) {
	t.Helper()
	for range r.Spec.Epochs + 2 {
		env := r.environment()
		if more != nil {
			more(env)
		}
		env.ExecuteWorkflow(workflows.Run, workflows.RunInput{Name: r.Spec.Name})
		err := env.GetWorkflowError()
		var next *workflow.ContinueAsNewError
		if errors.As(err, &next) {
			continue
		}
		var end runs.End
		if err == nil {
			err = env.GetWorkflowResult(&end)
		}
		return end, err
	}
	t.Fatal("the run does not end")
	return runs.End{}, nil
}

// Do runs another workflow on the run's store.
func (r *Run) Do(w, in any) error {
	env := r.environment()
	env.ExecuteWorkflow(w, in)
	return env.GetWorkflowError()
}

func (r *Run) environment() *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(silent{})
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(testTimeout)
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: testTimeout}) // a loaded machine is no deadlock
	for _, f := range workflows.All {
		env.RegisterWorkflow(f)
	}
	for _, a := range []any{&activities.Control{Deps: r.Deps}, &activities.Rollouts{Deps: r.Deps}, &activities.Models{Deps: r.Deps}, &activities.GPU{Deps: r.Deps}} {
		env.RegisterActivity(a)
	}
	return env
}
