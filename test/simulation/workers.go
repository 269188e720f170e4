package simulation

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/activities/roles"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/policy/limits"
	"github.com/collabui/collabui/test/kit/fakepolicy"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/workers/catalog"
)

// Versions of workers. Usual ones begin every epoch. Varying ones claim the usual version, but give other answers.
const (
	usual   = "usual"
	other   = "other"
	varying = "varying"
)

// varied is the effect of a record by a varying worker, after which the run's digest differs.
const varied = "a result of the second of two workers was recorded"

// kernel returns the arithmetic that workers of a version claim to have.
func (w *world) kernel(version string) string {
	if version == varying {
		version = usual // the records do not show the difference
	}
	if w.build > 0 && version == usual {
		version = fmt.Sprint(usual, w.build)
	}

	return version
}

// suites are the environments of one version of the workers.
func (w *world) suites(version string) *play.Suites {
	if version == varying {
		version = usual
	}

	return play.NewSuites(func(envadapters.Options) (envadapters.Suite, error) {
		return suite{&scripted.Suite{Length: 2, More: w.more}, w.scheduler, version}, nil
	})
}

// activities returns all activities of one version of the workers. Its policies, critic, environment and trainer differ
// from the other versions'.
func (w *world) activities(version string) []any {
	wording := play.Wording{
		Render: fakepolicy.Render, Fits: func(string, string) bool { return true }, Over: func(string) int { return 0 },
	}
	model := policies{w.scheduler, version, w.learned}
	e := &endpoints.Endpoints{
		Bucket: w.bucket, Limits: turns{w.scheduler, limits.Over(w.redis, w.kernel(version))},
		Connect: func(spec.Model) (chat.Model, error) { return critic{w.scheduler, version}, nil },
	}

	shared := roles.Dependencies{
		Common: activities.Common{
			Bucket: w.bucket, Catalog: catalog.All{}, Runs: activities.NewRuns(w.bucket, w.kernel(version)),
		},
		Suites: w.suites(version), Policies: model, Scores: model, Endpoints: e, Wording: wording, Threads: 1,
		Trainers: map[string]trainer.Trainer{
			spec.Embedded: fakepolicy.Trainer{Bucket: w.bucket, Step: w.step, Version: version},
		},
		Load: func(ctx context.Context, policy string, _ int) error {
			return model.ask(ctx, "load "+policy[:8])
		},
	}

	return []any{shared.Control(), shared.Rollouts(), shared.Models(), shared.GPU()}
}

// methods are activities by name.
type methods map[string]method

type method struct {
	call    reflect.Value
	control bool // done by the control worker, which exists in one version only
}

// method returns an activity of one version of the workers. They keep what they have read until all of them are started
// again.
func (w *world) method(version, name string) method {
	w.mu.Lock()
	crew := w.crew[version]
	w.mu.Unlock()
	if crew == nil {
		crew = methods{}
		for _, a := range w.activities(version) {
			v := reflect.ValueOf(a)
			_, control := a.(*roles.Control)
			for i := range v.NumMethod() {
				crew[v.Type().Method(i).Name] = method{v.Method(i), control}
			}
		}
		w.mu.Lock()
		if w.crew == nil {
			w.crew = map[string]methods{}
		}
		w.crew[version] = crew
		w.mu.Unlock()
	}

	return crew[name]
}

// startAgain ends all workers and actors, and starts others in their place.
func (w *world) startAgain() {
	w.mu.Lock()
	live := slices.SortedFunc(maps.Keys(w.live), func(a, b *execution) int { return strings.Compare(a.name, b.name) })
	w.crew = nil
	w.mu.Unlock()
	for _, e := range live {
		e.abandon(true)
	}
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

// workers runs activities so that the scheduler can kill them or let them continue alone.
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

// Results that Temporal receives: from an activity whose worker is dead, from one that it gave up, and from all
// activities after its data were lost.
var (
	errGivenUp = temporal.NewApplicationError("simulation: the activity was lost", "lost")
	errOver    = temporal.NewNonRetryableApplicationError("simulation: Temporal's data were lost", "lost", nil)
)

func (x *inbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	w := x.world
	info := activity.GetInfo(ctx)
	if info.ActivityType.Name == "Clock" {
		return x.Next.ExecuteActivity(ctx, in)
	}
	if w.isLost() {
		return nil, errOver
	}
	past, key, known := w.remembered(info, in.Args)
	if known {
		return past, nil
	}
	body, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	e := w.execution(info, in.Args, cancel)
	body = context.WithValue(body, executionKey{}, e)

	type result struct {
		v   any
		err error
	}
	done := make(chan result, 1)
	w.bodies.Go(func() {
		deepen()
		value, err := w.do(body, e, info.ActivityType.Name, in.Args)
		w.over(e, err)
		end := "end"
		if err != nil {
			end = "failed" // which of several errors is the first is not determined
		}
		if kind, _, dead := w.at(body, end, endFaults...); kind == Unacknowledged || dead != nil {
			err = errGivenUp
		}
		done <- result{value, err}
	})
	select {
	case r := <-done:
		if w.isLost() {
			return nil, errOver
		}
		w.addResult(key, r.v, r.err)

		return r.v, r.err
	case <-e.giveUp:
		if w.isLost() {
			return nil, errOver
		}

		return nil, e.failed()
	}
}

// deepen makes the stack of a goroutine as large as an activity needs, while there is nothing on it to move.
//
//go:noinline
func deepen() {
	var room [48 << 10]byte
	room[0] = 1
	runtime.KeepAlive(&room[0])
}

// remembered returns the result of an activity that is in the history, and the key of its result.
func (w *world) remembered(info activity.Info, args []any) (value any, key string, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key = w.present.key(info.WorkflowExecution.ID, info.ActivityType.Name, args, info.Attempt == 1)
	value, known = w.present.known[key]

	return value, key, known
}

// addResult adds the result of an activity to the history.
func (w *world) addResult(key string, value any, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.present.results = append(w.present.results, result{key, value})
	}
}

// do executes an activity on a worker of the usual version or of another one. Activities that are scheduled together
// may begin in any order elsewhere, but not here.
func (w *world) do(ctx context.Context, e *execution, name string, args []any) (any, error) {
	m := w.method(usual, name)
	can := workerFaults
	if m.control {
		can = beginFaults
	}
	kind, _, err := w.at(ctx, "begin", can...)
	switch {
	case err != nil:
		return nil, err
	case kind == OtherVersion:
		m = w.method(other, name)
	case kind == TwoResults:
		e.varies = true
		e.abandon(false)
		m = w.method(varying, name)
	case kind == NoWorker:
		days := 1 + domain.Seed(w.seed, "no worker", e.name)%60
		time.Sleep(time.Duration(days) * 24 * time.Hour)
		m = w.method(usual, name)
	}

	in := []reflect.Value{reflect.ValueOf(ctx)}
	for _, a := range args {
		in = append(in, reflect.ValueOf(a))
	}
	got := m.call.Call(in)
	err, _ = got[1].Interface().(error)

	return got[0].Interface(), w.reported(err)
}

// silent is a logger that drops everything.
type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
