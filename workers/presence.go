package workers

import (
	"context"
	"runtime/debug"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/observe/telemetry"
	"github.com/collabui/collabui/internal/policy/llm"
)

// metered counts the activities of a worker.
type metered struct {
	interceptor.WorkerInterceptorBase
	metrics *telemetry.Metrics
}

func (m *metered) InterceptActivity(
	_ context.Context, next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	return &meteredActivity{interceptor.ActivityInboundInterceptorBase{Next: next}, m.metrics}
}

type meteredActivity struct {
	interceptor.ActivityInboundInterceptorBase
	metrics *telemetry.Metrics
}

func (m *meteredActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	end := m.metrics.Begin(activity.GetInfo(ctx).ActivityType.Name)
	out, err := m.Next.ExecuteActivity(ctx, in)
	end(err)

	return out, err
}

// policyCalls is the kind of work that calls of policy servers are.
const policyCalls = "policy calls"

// roleAgent is the role of the policies in metrics; others have the names of their prompts.
const roleAgent = "agent"

// meteredPolicies counts the calls of policy servers.
type meteredPolicies struct {
	*llm.Pool
	metrics *telemetry.Metrics
}

func (m *meteredPolicies) Complete(ctx context.Context, request chat.Request) (chat.Response, error) {
	began := time.Now()
	end := m.metrics.Begin(policyCalls)
	out, err := m.Pool.Complete(ctx, request)
	if ctx.Err() != nil {
		end(nil) // nobody waits for the answer any more: the vote is certain, for instance
	} else {
		end(err)
	}
	if err == nil {
		m.metrics.Call(roleAgent, time.Since(began), out.Usage, 0)
	}

	return out, err
}

// present says every few seconds what the worker does and which servers it sees, until the context ends.
func (d *dependencies) present(ctx context.Context, roles []string) {
	worker := events.Worker{ID: identity(), Roles: roles, Since: time.Now().UTC()}
	if info, ok := debug.ReadBuildInfo(); ok {
		worker.Version = info.Main.Version
	}
	defer d.stream.Absent(worker.ID)
	for {
		worker.At = time.Now().UTC()
		worker.Servers, worker.Policies = d.servers(ctx)
		d.stream.Present(worker)
		select {
		case <-ctx.Done():
			return
		case <-time.After(events.PresenceEvery):
		}
	}
}

// serversLimit is how long servers have to report their state.
const serversLimit = 3 * time.Second

// servers returns the states of the servers that this process has used, of environments and of policies.
func (d *dependencies) servers(ctx context.Context) (environments, policies []envadapters.Server) {
	ctx, cancel := context.WithTimeout(ctx, serversLimit)
	defer cancel()
	for _, s := range d.policies.Health(ctx) {
		state := envadapters.Ready
		if !s.OK {
			state = envadapters.Dead
		}
		policies = append(policies, envadapters.Server{Address: s.URL, State: state, Detail: s.Detail})
	}

	return d.suites.Servers(ctx), policies
}
