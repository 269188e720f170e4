// Package testrun plays whole runs in one process for tests: the real workflows and activities over a bucket in memory,
// the scripted environment and a small policy behind real HTTP. Only tests import it.
package testrun

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/guard"
	"github.com/collabui/collabui/activities/lifecycle"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/activities/roles"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/notify"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/policy/tinyserver"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/fakepolicy"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/tiny"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// testTimeout is longer than any run takes on a loaded machine.
const testTimeout = 2 * time.Minute

// Wording is the wording of the embedded policy.
var Wording = play.Wording{Render: tinylm.Render, Fits: tinylm.Fits, Over: tinylm.Over}

// Run is one run in memory.
type Run struct {
	Spec   spec.Spec
	Bucket *store.Memory
	Suite  *scripted.Suite
	Deps   *Deps

	posted *posted
}

// posted are the notices that were posted.
type posted struct {
	mu  sync.Mutex
	all []domain.Notice
}

// Deps are the dependencies of a run's activities. A test may replace any of them before it plays.
type Deps struct {
	Bucket   store.Bucket                                               // the store, as activities see it
	Chat     chat.Model                                                 // answers for the policies
	Scores   chat.Scorer                                                // scores answers under the policies
	Load     func(ctx context.Context, policy string, quorum int) error // publishes a policy
	Suites   map[string]envadapters.Suite                               // open ones by name
	Open     func(envadapters.Options) (envadapters.Suite, error)       // opens others; may be nil
	Endpoint func(spec.Model) (chat.Model, error)                       // connects to chat endpoints; may be nil
	Trainers map[string]trainer.Trainer                                 // by the names of specifications
	Wording  play.Wording                                               // of the policies

	Guard func() *guard.Guard // of new workers; if nil, they accept all work

	Unposted error                                                   // why notices are not posted; nil if they are
	Webhook  notify.Webhook                                          // of notices
	Missed   func(ctx context.Context, schedule string) (int, error) // firings that were too late; nil if unknown
}

// New prepares a run whose policies answer at random and are trained immediately, for tests of everything around them.
func New(tb testing.TB, specification spec.Spec) *Run {
	tb.Helper()
	run := prepared(tb, specification)
	model := fakepolicy.Policies{}
	run.Deps.Chat = model
	run.Deps.Scores = model
	run.Deps.Load = func(context.Context, string, int) error { return nil }
	run.Deps.Trainers = map[string]trainer.Trainer{spec.Embedded: fakepolicy.Trainer{Bucket: run.Bucket}}
	run.Deps.Wording = play.Wording{
		Render: fakepolicy.Render, Fits: func(string, string) bool { return true }, Over: func(string) int { return 0 },
	}

	return run
}

// Learning prepares a run whose policies are the embedded ones, behind real HTTP, and learn.
func Learning(tb testing.TB, specification spec.Spec) *Run {
	tb.Helper()
	run := prepared(tb, specification)
	srv := httptest.NewServer(tinyserver.New(run.Bucket))
	tb.Cleanup(srv.Close)
	model, err := llm.PolicyServers([]string{srv.URL + "/v1"}, llm.Config{Timeout: 30 * time.Second})
	if err != nil {
		tb.Fatal(err)
	}

	embedded := &tiny.Trainer{Bucket: run.Bucket, CheckpointKey: checkpointKey}
	run.Deps.Chat = model
	run.Deps.Scores = model
	run.Deps.Load = model.Load
	run.Deps.Trainers = map[string]trainer.Trainer{spec.Embedded: embedded}
	run.Deps.Wording = Wording

	return run
}

// prepared records the specification of a run.
func prepared(tb testing.TB, specification spec.Spec) *Run {
	tb.Helper()
	run := &Run{Spec: specification, Bucket: &store.Memory{}, Suite: &scripted.Suite{}, posted: &posted{}}
	run.Deps = &Deps{Bucket: run.Bucket, Suites: map[string]envadapters.Suite{"webtasks": run.Suite}}
	record := func() (spec.Spec, error) { return specification, nil }
	if _, _, err := runs.Run(specification.Name).Spec().Record(tb.Context(), run.Bucket, record); err != nil {
		tb.Fatal(err)
	}

	return run
}

func checkpointKey(job string, step int) string {
	return fmt.Sprintf("%s-checkpoint-%06d.json", job, step)
}

// Play runs the workflow to its end, through every continue-as-new. more may prepare each environment.
func (r *Run) Play(tb testing.TB, more func(*testsuite.TestWorkflowEnvironment)) (runs.End, error) {
	tb.Helper()
	in := workflows.RunInput{Name: r.Spec.Name}
	for range r.Spec.Epochs + 2 {
		env := r.Environment()
		if more != nil {
			more(env)
		}
		env.ExecuteWorkflow(workflows.Run, in)

		err := env.GetWorkflowError()
		if workflow.IsContinueAsNewError(err) {
			in = Next(tb, err)

			continue
		}
		var end runs.End
		if err == nil {
			err = env.GetWorkflowResult(&end)
		}

		return end, err
	}
	tb.Fatalf("the run continues as new more than %d times, want its end", r.Spec.Epochs+2)

	return runs.End{}, nil
}

// Next returns the input with which a run continues as new.
func Next(tb testing.TB, err error) (in workflows.RunInput) {
	tb.Helper()
	var next *workflow.ContinueAsNewError
	if !errors.As(err, &next) {
		tb.Fatalf("the run ended with %v, want it to continue as new", err)
	}
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &in); err != nil {
		tb.Fatal(err)
	}

	return in
}

// Do runs another workflow on the run's store.
func (r *Run) Do(w, in any) error {
	env := r.Environment()
	env.ExecuteWorkflow(w, in)

	return env.GetWorkflowError()
}

// notice keeps a notice, once.
func (r *Run) notice(_ context.Context, n domain.Notice) error {
	if r.Deps.Unposted != nil {
		return r.Deps.Unposted
	}
	r.posted.mu.Lock()
	defer r.posted.mu.Unlock()
	if !slices.Contains(r.posted.all, n) {
		r.posted.all = append(r.posted.all, n)
	}

	return nil
}

// Notices returns the notices that were posted, in order.
func (r *Run) Notices() []domain.Notice {
	r.posted.mu.Lock()
	defer r.posted.mu.Unlock()

	return slices.Clone(r.posted.all)
}

// Control returns the activities that plan and commit.
func (r *Run) Control() *roles.Control { return r.dependencies().Control() }

// dependencies returns what the activities of a process share.
func (r *Run) dependencies() roles.Dependencies {
	d := r.Deps

	return roles.Dependencies{
		Common: activities.Common{
			Bucket: d.Bucket, Catalog: catalog.All{}, Runs: activities.NewRuns(d.Bucket, ""),
		},
		Suites: r.suites(), Policies: d.Chat, Scores: d.Scores, Endpoints: r.endpoints(), Wording: d.Wording,
		Trainers: d.Trainers, Load: d.Load, Threads: 1,
		Notices: lifecycle.Notices{Webhook: d.Webhook, Start: r.notice}, Missed: d.Missed,
	}
}

func (r *Run) endpoints() *endpoints.Endpoints {
	return &endpoints.Endpoints{Bucket: r.Bucket, Connect: r.Deps.Endpoint}
}

// suites opens the suites that the test provides, and others by its Open.
func (r *Run) suites() *play.Suites {
	return play.NewSuites(func(o envadapters.Options) (envadapters.Suite, error) {
		if s, ok := r.Deps.Suites[o.Suite]; ok && runs.Digest(envadapters.Options{Suite: o.Suite}) == runs.Digest(o) {
			return s, nil
		}
		if r.Deps.Open == nil {
			return nil, fault.New(fault.Invalid, "this worker has no environment %q", o.Suite)
		}

		return r.Deps.Open(o)
	})
}

// headers collects the fields that a propagator writes.
type headers map[string]*commonpb.Payload

func (h headers) Set(key string, value *commonpb.Payload) { h[key] = value }

// belong makes workflows that an environment starts belong to the run and to its store.
func (r *Run) belong(suite *testsuite.WorkflowTestSuite) {
	propagator := guard.Headers{Converter: converter.GetDefaultDataConverter()}
	own, err := store.Identify(context.Background(), r.Bucket)
	h := headers{}
	if err == nil {
		belonging := guard.Belonging{Store: own.ID, Where: "memory", Run: r.Spec.Name}
		err = propagator.Inject(belonging.In(context.Background()), h)
	}
	if err != nil {
		panic(err) // a bucket in memory has no faults
	}
	suite.SetContextPropagators([]workflow.ContextPropagator{propagator})
	suite.SetHeader(&commonpb.Header{Fields: h})
}

// Environment returns a workflow environment with all workflows and activities.
func (r *Run) Environment() *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(silent{})
	options := worker.Options{DeadlockDetectionTimeout: testTimeout} // a loaded machine is not a deadlock
	if r.Deps.Guard != nil {
		r.belong(&suite)
		options.Interceptors = append(options.Interceptors, r.Deps.Guard())
	}
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(testTimeout)
	env.SetWorkerOptions(options)
	for _, f := range workflows.All {
		env.RegisterWorkflow(f)
	}

	shared := r.dependencies()
	env.RegisterActivity(shared.Control())
	env.RegisterActivity(shared.Rollouts())
	env.RegisterActivity(shared.Models())
	env.RegisterActivity(shared.GPU())

	return env
}
