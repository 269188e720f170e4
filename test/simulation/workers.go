package simulation

import (
	"context"
	"reflect"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/policy/limits"
	"github.com/collabui/collabui/test/kit/fakepolicy"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// Versions of workers. The usual ones begin every epoch.
const usual, other = "usual", "other"

// environment returns a workflow environment with all workflows and activities, whose workers the scheduler may kill.
func (w *world) environment() *testsuite.TestWorkflowEnvironment {
	var ts testsuite.WorkflowTestSuite
	ts.SetLogger(silent{})
	env := ts.NewTestWorkflowEnvironment()
	env.SetTestTimeout(limit)
	env.SetWorkerOptions(worker.Options{
		DeadlockDetectionTimeout: time.Hour,
		Interceptors:             []interceptor.WorkerInterceptor{&workers{world: w}},
	})
	for _, f := range workflows.All {
		env.RegisterWorkflow(f)
	}
	for _, a := range append(w.activities(usual), w.control()) {
		env.RegisterActivity(a)
	}

	return env
}

func (w *world) common(version string) activities.Common {
	return activities.Common{Bucket: w.bucket, Catalog: catalog.All{}, Kernel: version}
}

// suites are the environments of a version of the workers.
func (w *world) suites(version string) *activities.Suites {
	return activities.NewSuites(func(envadapters.Options) (envadapters.Suite, error) {
		return suite{&scripted.Suite{Length: 2}, w.scheduler, version}, nil
	})
}

func (w *world) control() any {
	return &activities.Control{Common: w.common(usual), Suites: w.suites(usual)}
}

// activities returns all activities that are not the control worker's, as a version of the workers does them. Its
// policies, critic, environment and trainer are not like another version's.
func (w *world) activities(version string) []any {
	wording := activities.Wording{
		Render: fakepolicy.Render, Fits: func(string, string) bool { return true }, Over: func(string) int { return 0 },
	}
	model := policies{w.scheduler, version}
	e := &endpoints.Endpoints{
		Bucket: w.bucket, Limits: limits.Over(w.redis, version),
		Connect: func(spec.Model) (chat.Model, error) { return critic{w.scheduler, version}, nil },
	}

	return []any{
		&activities.Rollouts{
			Common: w.common(version), Suites: w.suites(version), Policies: model, Endpoints: e, Wording: wording,
		},
		&activities.Models{
			Common: w.common(version), Policies: model, Scores: model, Endpoints: e, Wording: wording,
		},
		&activities.GPU{
			Common: w.common(version), Policies: model, Scores: model, Threads: 1,
			Trainers: map[string]trainer.Trainer{
				spec.Embedded: fakepolicy.Trainer{Bucket: w.bucket, Step: w.step, Version: version},
			},
			Load: func(ctx context.Context, policy string, _ int) error {
				return model.ask(ctx, "load "+policy[:8])
			},
		},
	}
}

// methods returns the activities of a worker of another version, by name.
func (w *world) methods() map[string]reflect.Value {
	out := map[string]reflect.Value{}
	for _, a := range w.activities(other) {
		v := reflect.ValueOf(a)
		for i := range v.NumMethod() {
			out[v.Type().Method(i).Name] = v.Method(i)
		}
	}

	return out
}

// step is an optimiser step.
func (w *world) step(ctx context.Context, name string) error {
	_, after, err := w.at(ctx, name)
	if err == nil {
		after()
		time.Sleep(w.Step)
	}

	return err
}

// workers runs activities so that the scheduler can kill them or let them run on alone.
type workers struct {
	interceptor.WorkerInterceptorBase
	world *world
}

func (x *workers) InterceptActivity(
	_ context.Context, next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	base := interceptor.ActivityInboundInterceptorBase{Next: next}

	return &inbound{ActivityInboundInterceptorBase: base, world: x.world}
}

type inbound struct {
	interceptor.ActivityInboundInterceptorBase
	world *world
}

// What Temporal gets of an activity whose worker is dead, or that it gave up, and of all activities after its data
// were lost.
var (
	errGivenUp = temporal.NewApplicationError("simulation: the activity was lost", "lost")
	errOver    = temporal.NewNonRetryableApplicationError("simulation: Temporal's data were lost", "lost", nil)
)

func (x *inbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if x.world.isLost() {
		return nil, errOver
	}
	body, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	e := x.world.execution(activity.GetInfo(ctx), in.Args, cancel)
	body = context.WithValue(body, executionKey{}, e)

	type result struct {
		v   any
		err error
	}
	done := make(chan result, 1)
	x.world.bodies.Go(func() {
		v, err := x.begin(body, activity.GetInfo(ctx).ActivityType.Name, in)
		x.world.over(e, err)
		if k, _, dead := x.world.at(body, "end", Unacknowledged); k == Unacknowledged || dead != nil {
			err = errGivenUp
		}
		done <- result{v, err}
	})
	select {
	case r := <-done:
		return r.v, r.err
	case <-e.giveUp:
		if x.world.isLost() {
			return nil, errOver
		}

		return nil, errGivenUp
	}
}

// begin executes an activity, on a worker of the usual version or of another one. Activities that are scheduled
// together begin in any order, but not here.
func (x *inbound) begin(ctx context.Context, name string, in *interceptor.ExecuteActivityInput) (any, error) {
	var can []Kind
	method, ok := x.world.others[name]
	if ok {
		can = []Kind{OtherVersion}
	}
	k, _, err := x.world.at(ctx, "begin", can...)
	switch {
	case err != nil:
		return nil, err
	case k != OtherVersion:
		return x.Next.ExecuteActivity(ctx, in)
	}

	args := []reflect.Value{reflect.ValueOf(ctx)}
	for _, a := range in.Args {
		args = append(args, reflect.ValueOf(a))
	}
	got := method.Call(args)
	err, _ = got[1].Interface().(error)

	return got[0].Interface(), err
}

// silent is a logger that drops everything.
type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
