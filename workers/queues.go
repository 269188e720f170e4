package workers

import (
	"slices"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/workflows"
)

// Queues are the task queues of all roles.
var Queues = queuesOf(Roles)

// queuesOf returns the task queues that some roles serve.
func queuesOf(roles []string) []string {
	queues := slices.Clone(roles)
	if slices.Contains(roles, workflows.QueueControl) {
		queues = append(queues, workflows.QueueCare)
	}

	return queues
}

// onOneMachine reports whether Temporal is on this machine.
func (o Options) onOneMachine() bool { return httpd.IsLoopback(o.Endpoints.Temporal) }

// Of workers with Temporal on their machine: a worker that was killed is replaced within a second, and its activities
// begin again when their heartbeats are missed. They cost nothing there.
const (
	nearTimeout = 10 * time.Second
	nearBeat    = 3 * time.Second // between two heartbeats
)

// Near lets workflows notice a worker that was lost on their machine within seconds, rather than within the minute that
// several machines have.
type Near struct {
	interceptor.WorkerInterceptorBase
}

// InterceptWorkflow implements interceptor.WorkerInterceptor.
func (*Near) InterceptWorkflow(
	_ workflow.Context, next interceptor.WorkflowInboundInterceptor,
) interceptor.WorkflowInboundInterceptor {
	return &nearInbound{interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

type nearInbound struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (x *nearInbound) Init(out interceptor.WorkflowOutboundInterceptor) error {
	return x.Next.Init(&nearOutbound{interceptor.WorkflowOutboundInterceptorBase{Next: out}})
}

type nearOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
}

// ExecuteActivity shortens the heartbeat timeout of an activity that has one. Timeouts are no part of what a history
// must repeat.
func (x *nearOutbound) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	activityOptions := workflow.GetActivityOptions(ctx)
	if activityOptions.HeartbeatTimeout > nearTimeout {
		activityOptions.HeartbeatTimeout = nearTimeout
		ctx = workflow.WithActivityOptions(ctx, activityOptions)
	}

	return x.Next.ExecuteActivity(ctx, name, args...)
}
