package workflows_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workflows"
)

// meeting is a suite that opens no environment before some are asked for at the same time.
type meeting struct {
	*scripted.Suite
	mu   sync.Mutex
	left int
	all  chan struct{} // closed when left is 0
}

func (m *meeting) Open(ctx context.Context) (envadapters.Environment, error) {
	m.mu.Lock()
	if m.left--; m.left == 0 {
		close(m.all)
	}
	m.mu.Unlock()
	select {
	case <-m.all:
		return m.Suite.Open(ctx)
	case <-time.After(10 * time.Second):
		return nil, fault.New(fault.Invalid, "nobody else asks for an environment")
	}
}

// begun records that a run has begun, as its first plan does.
func begun(t *testing.T, r *testrun.Run) {
	t.Helper()
	if _, _, _, err := runs.Run(r.Spec.Name).Made(0).Write(t.Context(), r.Bucket, runs.Made{}); err != nil {
		t.Fatal(err)
	}
}

func TestTheEpisodesOfAnEvaluationsActivityArePlayedSideBySide(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Tiny())
	const episodes = 4
	r.Deps.Suites["webtasks"] = &meeting{Suite: r.Suite, left: episodes, all: make(chan struct{})}
	begun(t, r)
	val := rules.Split{Name: domain.SplitVal, Episodes: episodes}
	item := val.Item(r.Spec.Name, "alone", rules.References()[0])
	if err := r.Do(workflows.Evaluation, []rules.EvalItem{item}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, r, runs.Run(r.Spec.Name).Result(item.ID())).Episodes; got != episodes {
		t.Errorf("the result has %d episodes, want %d", got, episodes)
	}
}

// priorities notes the priorities and the fairness keys of activities by their names.
type priorities struct {
	interceptor.WorkerInterceptorBase
	seen map[string][]int
	keys map[string]string
}

func (p *priorities) InterceptWorkflow(
	_ workflow.Context, next interceptor.WorkflowInboundInterceptor,
) interceptor.WorkflowInboundInterceptor {
	base := interceptor.WorkflowInboundInterceptorBase{Next: next}

	return &prioritiesOfOne{to: p, WorkflowInboundInterceptorBase: base}
}

// prioritiesOfOne notes the priorities of the activities of one workflow.
type prioritiesOfOne struct {
	interceptor.WorkflowInboundInterceptorBase
	interceptor.WorkflowOutboundInterceptorBase
	to *priorities
}

func (p *prioritiesOfOne) Init(next interceptor.WorkflowOutboundInterceptor) error {
	p.WorkflowOutboundInterceptorBase.Next = next

	return p.WorkflowInboundInterceptorBase.Next.Init(p)
}

func (p *prioritiesOfOne) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	priority := workflow.GetActivityOptions(ctx).Priority
	p.to.seen[name] = append(p.to.seen[name], priority.PriorityKey)
	p.to.keys[name] = priority.FairnessKey

	return p.WorkflowOutboundInterceptorBase.Next.ExecuteActivity(ctx, name, args...)
}

func TestEvaluationsGoBeforeRollouts(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Tiny())
	p := &priorities{seen: map[string][]int{}, keys: map[string]string{}}
	begun(t, r)
	env := r.Environment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{p}})
	item := rules.Split{Name: domain.SplitVal, Episodes: 1}.Item(r.Spec.Name, "alone", rules.References()[0])
	env.ExecuteWorkflow(workflows.Evaluation, []rules.EvalItem{item})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	want := map[string][]int{"Evaluate": {1}, "Conclude": {0}}
	if !maps.EqualFunc(p.seen, want, slices.Equal) {
		t.Errorf("the activities have the priorities %v, want %v: only the one that plays goes first", p.seen, want)
	}
}

// TestEveryActivityOfARunHasItsFairnessKey plays a whole run. By the key, a server lets runs share workers.
func TestEveryActivityOfARunHasItsFairnessKey(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Tiny())
	p := &priorities{seen: map[string][]int{}, keys: map[string]string{}}
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: r.Spec.Name, TaskQueue: workflows.QueueControl})
		env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{p}})
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"PlanEpoch", "Rollout", "CreditAndPairing", "Update", "Evaluate", "Commit"} {
		if got := p.keys[name]; got != r.Spec.Name {
			t.Errorf("%s has the fairness key %q, want the run's name, %q", name, got, r.Spec.Name)
		}
	}
}
