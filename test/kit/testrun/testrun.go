// Package testrun plays whole runs in one process for tests: the real workflows and activities over a bucket in memory, the scripted environment and
// a small policy behind real HTTP. Only tests import it.
package testrun

import (
	"context"
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
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
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
	Deps   *Deps
}

// Deps are what the activities of a run work with. A test may replace any of them before it plays.
type Deps struct {
	Chat     chat.Model                                                 // answers for the policies
	Load     func(ctx context.Context, policy string, quorum int) error // publishes a policy
	Suites   map[string]envadapters.Suite                               // that are open, by name
	Open     func(envadapters.Options) (envadapters.Suite, error)       // opens others; nil: none
	Endpoint func(spec.Model) (chat.Model, error)                       // chat endpoints; nil: none
	Trainers map[string]trainer.Trainer                                 // by the names of specifications
}

// Wording is that of the embedded policy.
var Wording = activities.Wording{Render: tinylm.Render, Fits: tinylm.Fits}

func checkpointKey(job string, step int) string {
	return fmt.Sprintf("%s-checkpoint-%06d.json", job, step)
}

func (r *Run) common() activities.Common {
	return activities.Common{Bucket: r.Bucket, Catalog: catalog.All{}}
}

// suites opens the suites that the test gives, and others by its Open.
func (r *Run) suites() *activities.Suites {
	return activities.NewSuites(func(o envadapters.Options) (envadapters.Suite, error) {
		if s, ok := r.Deps.Suites[o.Suite]; ok && runs.Digest(envadapters.Options{Suite: o.Suite}) == runs.Digest(o) {
			return s, nil
		}
		if r.Deps.Open == nil {
			return nil, fault.New(fault.Invalid, "this worker has no environment %q", o.Suite)
		}

		return r.Deps.Open(o)
	})
}

// Control returns the activities that plan and commit.
func (r *Run) Control() *activities.Control {
	return &activities.Control{Common: r.common(), Suites: r.suites()}
}

func (r *Run) endpoints() *endpoints.Endpoints {
	return &endpoints.Endpoints{Bucket: r.Bucket, Connect: r.Deps.Endpoint}
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
	r.Deps = &Deps{
		Chat: model, Load: model.Load, Suites: map[string]envadapters.Suite{"webtasks": r.Suite},
		Trainers: map[string]trainer.Trainer{spec.Embedded: &tiny.Trainer{Bucket: r.Bucket, CheckpointKey: checkpointKey}},
	}
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
	suites := r.suites()
	env.RegisterActivity(r.Control())
	env.RegisterActivity(&activities.Rollouts{
		Common: r.common(), Suites: suites, Policies: r.Deps.Chat, Endpoints: r.endpoints(), Wording: Wording,
	})
	env.RegisterActivity(&activities.Models{
		Common: r.common(), Policies: r.Deps.Chat, Endpoints: r.endpoints(), Wording: Wording,
	})
	env.RegisterActivity(&activities.GPU{
		Common: r.common(), Trainers: r.Deps.Trainers, Policies: r.Deps.Chat, Load: r.Deps.Load, Threads: 1,
	})
	return env
}
