package workflows_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities/experiment"
	"github.com/collabui/collabui/activities/retrain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workflows"
)

// away is a bucket that no request reaches until a time.
type away struct {
	store.Bucket
	now   func() time.Time
	until atomic.Pointer[time.Time]
}

func (b *away) down() error {
	if until := b.until.Load(); until != nil && b.now().Before(*until) {
		return fault.After(fault.Throttled, 10*time.Minute, "the store is away")
	}

	return nil
}

func (b *away) Get(ctx context.Context, key string) ([]byte, error) {
	if err := b.down(); err != nil {
		return nil, err
	}

	return b.Bucket.Get(ctx, key)
}

func (b *away) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	if err := b.down(); err != nil {
		return false, err
	}

	return b.Bucket.PutOnce(ctx, key, body)
}

func (b *away) List(ctx context.Context, prefix string) ([]store.Ref, error) {
	if err := b.down(); err != nil {
		return nil, err
	}

	return b.Bucket.List(ctx, prefix)
}

// TestARunWaitsForMonths takes the store away for 100 days in the middle of an epoch. The run continues as new every
// few days, so that its history stays short, and ends as if nothing had been.
func TestARunWaitsForMonths(t *testing.T) {
	t.Parallel()
	whole, _ := watched(t, func(*spec.Spec) {})
	want := play(t, whole).FinalDigest

	r, _ := watched(t, func(*spec.Spec) {})
	b := &away{Bucket: r.Deps.Bucket}
	r.Deps.Bucket = b
	const days = 100
	in, clock := workflows.RunInput{Name: r.Spec.Name}, time.Now()
	var end runs.End
	renewed, reason := 0, ""
	for range 200 {
		env := r.Environment()
		env.SetStartTime(clock)
		b.now = env.Now
		atFirst(env, "CreditAndPairing", func() {
			if b.until.Load() == nil {
				back := env.Now().Add(days * 24 * time.Hour)
				b.until.Store(&back)
			}
		})
		env.ExecuteWorkflow(workflows.Run, in)
		clock = env.Now()
		err := env.GetWorkflowError()
		if !workflow.IsContinueAsNewError(err) {
			if err == nil {
				err = env.GetWorkflowResult(&end)
			}
			if err != nil {
				t.Fatal(err)
			}

			break
		}
		in = testrun.Next(t, err)
		if back := b.until.Load(); back != nil && clock.Before(*back) {
			renewed, reason = renewed+1, in.Told
		}
	}
	if end.FinalDigest != want {
		t.Errorf("the run ended with %q, want %s", end.FinalDigest, want)
	}
	if renewed < days/20 || !strings.Contains(reason, "the store is away") {
		t.Errorf("in %d days without the store the run continued as new %d times because of %q, want once in 20 days",
			days, renewed, reason)
	}
	clean(t, r)
}

// quiet returns a workflow environment with all workflows.
func quiet(t *testing.T) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	env := testrun.New(t, testrun.Tiny()).Environment()
	env.SetTestTimeout(5 * time.Minute)

	return env
}

// renewed returns what a workflow continues with as new.
func renewed[T any](t *testing.T, env *testsuite.TestWorkflowEnvironment) (in T) {
	t.Helper()
	var next *workflow.ContinueAsNewError
	if err := env.GetWorkflowError(); !errors.As(err, &next) {
		t.Fatalf("the workflow ended with %v, want it to continue as new", err)
	}
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &in); err != nil {
		t.Fatal(err)
	}

	return in
}

// gone is the error of a service that is away, which no try outlasts.
var gone = temporal.NewApplicationErrorWithOptions("the store is away", "transient",
	temporal.ApplicationErrorOptions{NextRetryDelay: 10 * time.Minute})

func TestAnExperimentThatWaitsContinuesAsNew(t *testing.T) {
	t.Parallel()
	env := quiet(t)
	env.OnActivity("Layout", mock.Anything, mock.Anything).Return(experiment.Layout{}, gone)
	env.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{
		ID: experiment.ID{Name: "x", Version: 2}, Done: 3,
	})
	if in := renewed[workflows.ExperimentInput](t, env); in.Name != "x" || in.Version != 2 || in.Done != 3 {
		t.Errorf("the experiment continues with %+v, want what it began with", in)
	}
}

// firingTo returns an environment in which a firing trains a system that is better, and asks a person.
func firingTo(t *testing.T) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	env := quiet(t)
	found := retrain.Found{News: schedules.NewsTasks, Run: "mobile-1", Line: "mobile", Approval: "1h"}
	env.OnActivity("Look", mock.Anything, mock.Anything).Return(found, nil)
	env.OnActivity("Fork", mock.Anything, mock.Anything).Return(found.Run, nil)
	env.OnWorkflow(workflows.Run, mock.Anything, mock.Anything).Return(runs.End{}, nil)
	env.OnActivity("PlanGate", mock.Anything, mock.Anything).Return([]rules.EvalItem{}, nil)
	env.OnActivity("Judge", mock.Anything, mock.Anything).Return(retrain.Judged{Accepted: true, Why: "better"}, nil)
	env.OnActivity("Post", mock.Anything, mock.Anything).Return(1, nil)

	return env
}

// TestAFiringThatWaitsKeepsWhatAPersonDecided lets the line be unreachable after a person approved.
func TestAFiringThatWaitsKeepsWhatAPersonDecided(t *testing.T) {
	t.Parallel()
	env := firingTo(t)
	tries := 0
	env.OnActivity("Rule", mock.Anything, mock.Anything).Return(
		func(context.Context, retrain.Ruling) (retrain.Entered, error) {
			tries++

			return retrain.Entered{}, gone
		})
	env.RegisterDelayedCallback(func() {
		send(t, env, workflows.UpdateApprove, workflows.Command{Who: "ann", Why: "looks good"})
	}, time.Minute)
	env.ExecuteWorkflow(workflows.Retrain, workflows.RetrainInput{Schedule: "nightly", Version: 1})

	in := renewed[workflows.RetrainInput](t, env)
	if in.Schedule != "nightly" || in.Version != 1 || in.Since == nil || in.Since.Ruling == nil || tries == 0 {
		t.Fatalf("the firing continues with %+v after %d rulings, want what the person decided", in, tries)
	}
	x := *in.Since
	if !x.Ruling.Accepted || x.Ruling.Who != "ann" || !x.Waited || x.Firing == "" || x.Deadline.IsZero() {
		t.Errorf("the firing continues with %+v and %+v, want its name, its deadline and ann's ruling", x, *x.Ruling)
	}

	again := firingTo(t) // a person is not asked a second time
	var ruled retrain.Ruling
	again.OnActivity("Rule", mock.Anything, mock.Anything).Return(
		func(_ context.Context, r retrain.Ruling) (retrain.Entered, error) {
			ruled = r

			return retrain.Entered{Verb: "promote", Number: 2}, nil
		})
	again.OnActivity("Conclusion", mock.Anything, mock.Anything).Return(
		func(_ context.Context, e retrain.Ended) (schedules.Outcome, error) { return e.Outcome, nil })
	again.ExecuteWorkflow(workflows.Retrain, in)
	if err := again.GetWorkflowError(); err != nil || ruled.Who != "ann" || ruled.Firing.ID != in.Since.Firing {
		t.Errorf("the firing ended with %v and the ruling %+v, want ann's of firing %s", err, ruled, in.Since.Firing)
	}
}

// TestAChildThatIsStillOpenIsWaitedForSeconds: the children of a run that was stopped end a little after it.
func TestAChildThatIsStillOpenIsWaitedForSeconds(t *testing.T) {
	t.Parallel()
	const open = "ChildWorkflowExecutionAlreadyStartedError"
	r := testrun.New(t, testrun.Tiny())
	env := r.Environment()
	var at []time.Time
	env.OnWorkflow(workflows.FineTune, mock.Anything, mock.Anything).Return(
		func(ctx workflow.Context, _ workflows.FineTuneInput) (runs.Policy, error) {
			if at = append(at, workflow.Now(ctx)); len(at) <= 3 {
				return runs.Policy{}, temporal.NewApplicationError("a workflow of this id is open", open)
			}

			return runs.Policy{}, temporal.NewNonRetryableApplicationError("enough", "invalid", nil)
		})
	env.RegisterDelayedCallback(func() {
		wantHeld(t, status(t, env), "enough")
		env.CancelWorkflow()
	}, time.Hour)
	env.ExecuteWorkflow(workflows.Run, workflows.RunInput{Name: r.Spec.Name})
	if len(at) != 4 {
		t.Fatalf("stage 1 began %d times, want 4: %v", len(at), env.GetWorkflowError())
	}
	for i := range 3 {
		if took := at[i+1].Sub(at[i]); took > 20*time.Second {
			t.Errorf("try %d came after %v, want some seconds", i+2, took)
		}
	}
}

// queues notes the activities whose time is limited to more than 30 seconds, and those that a person waits for.
type queues struct {
	interceptor.WorkerInterceptorBase
	slow, people map[string]bool
}

func (q *queues) InterceptWorkflow(
	_ workflow.Context, next interceptor.WorkflowInboundInterceptor,
) interceptor.WorkflowInboundInterceptor {
	return &queueOf{interceptor.WorkflowInboundInterceptorBase{Next: next}, q}
}

type queueOf struct {
	interceptor.WorkflowInboundInterceptorBase
	to *queues
}

func (x *queueOf) Init(next interceptor.WorkflowOutboundInterceptor) error {
	return x.Next.Init(&queueOut{interceptor.WorkflowOutboundInterceptorBase{Next: next}, x.to})
}

type queueOut struct {
	interceptor.WorkflowOutboundInterceptorBase
	to *queues
}

func (x *queueOut) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	o := workflow.GetActivityOptions(ctx)
	if o.TaskQueue == workflows.QueueControl && o.StartToCloseTimeout > 30*time.Second {
		x.to.slow[name] = true
	}
	if name == "Note" || name == "Set" {
		x.to.people[name] = o.TaskQueue == workflows.QueueControl && o.Priority.PriorityKey == 1
	}

	return x.Next.ExecuteActivity(ctx, name, args...)
}

// TestNothingSlowIsInTheQueueOfWhatPeopleWaitFor plays a run with every command of people.
func TestNothingSlowIsInTheQueueOfWhatPeopleWaitFor(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Tiny())
	q := &queues{slow: map[string]bool{}, people: map[string]bool{}}
	ann := workflows.Command{Who: "ann", Why: "a test"}
	done := false
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		env.SetWorkerOptions(worker.Options{
			DeadlockDetectionTimeout: time.Minute, Interceptors: []interceptor.WorkerInterceptor{q},
		})
		atFirst(env, "Rollout", func() {
			if done {
				return
			}
			done = true
			ask(env, workflows.SetCommand{Command: ann, Values: map[string]string{"window": "7"}})
			send(t, env, workflows.UpdatePause, ann)
			env.RegisterDelayedCallback(func() { send(t, env, workflows.UpdateResume, ann) }, time.Minute)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(q.slow) > 0 {
		t.Errorf("the queue control has activities that may take long: %v, want none", q.slow)
	}
	if !q.people["Note"] || !q.people["Set"] {
		t.Errorf("in the queue control, with the highest priority: %v; want Note and Set", q.people)
	}
}
