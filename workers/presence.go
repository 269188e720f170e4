package workers

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/process/events"
	"github.com/collabui/collabui/internal/process/telemetry"
)

// meter counts what a worker does, by the kind of work, over the last minute. Safe for concurrent use.
type meter struct {
	metrics *telemetry.Metrics // counts the same since the start

	mu      sync.Mutex
	running map[string]int
	ended   map[string][]ending // in the order of time
}

// ending is how one piece of work ended.
type ending struct {
	at     time.Time
	took   time.Duration
	failed bool
}

// measured is the time over which a meter counts, and maxMeasured the number of pieces of work of a kind that it keeps.
const (
	measured    = time.Minute
	maxMeasured = 10000
)

func newMeter(m *telemetry.Metrics) *meter {
	return &meter{metrics: m, running: map[string]int{}, ended: map[string][]ending{}}
}

// begin counts the beginning of a piece of work. The function that it returns counts its end.
func (m *meter) begin(kind string) (end func(error)) {
	began, counted := time.Now(), m.metrics.Begin(kind)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running[kind]++

	return func(err error) {
		counted(err)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.running[kind]--
		m.ended[kind] = append(m.ended[kind], ending{time.Now(), time.Since(began), err != nil})
		m.forget(kind)
	}
}

// forget drops what ended too long ago. The lock is held.
func (m *meter) forget(kind string) {
	all := m.ended[kind]
	old := max(0, len(all)-maxMeasured)
	for old < len(all) && time.Since(all[old].at) > measured {
		old++
	}
	m.ended[kind] = all[old:]
}

// parts returns the counts.
func (m *meter) parts() map[string]events.Part {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]events.Part{}
	for kind, running := range m.running {
		m.forget(kind)
		p := events.Part{Running: running}
		for _, e := range m.ended[kind] {
			p.Done++
			p.Seconds += e.took.Seconds()
			if e.failed {
				p.Failed++
			}
		}
		out[kind] = p
	}

	return out
}

// metered counts the activities of a worker.
type metered struct {
	interceptor.WorkerInterceptorBase
	meter *meter
}

func (m *metered) InterceptActivity(
	_ context.Context, next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	return &meteredActivity{interceptor.ActivityInboundInterceptorBase{Next: next}, m.meter}
}

type meteredActivity struct {
	interceptor.ActivityInboundInterceptorBase
	meter *meter
}

func (m *meteredActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	end := m.meter.begin(activity.GetInfo(ctx).ActivityType.Name)
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
	meter *meter
}

func (m *meteredPolicies) Complete(ctx context.Context, r chat.Request) (chat.Response, error) {
	began, end := time.Now(), m.meter.begin(policyCalls)
	out, err := m.Pool.Complete(ctx, r)
	if ctx.Err() != nil {
		end(nil) // nobody waits for the answer any more: the vote is certain, for instance
	} else {
		end(err)
	}
	if err == nil {
		m.meter.metrics.Call(roleAgent, time.Since(began), out.Usage, 0)
	}

	return out, err
}

// present says every few seconds what the worker does and which servers it sees, until the context ends.
func (d *dependencies) present(ctx context.Context, roles []string) {
	w := events.Worker{ID: identity(), Roles: roles, Since: time.Now().UTC()}
	if info, ok := debug.ReadBuildInfo(); ok {
		w.Version = info.Main.Version
	}
	defer d.stream.Absent(w.ID)
	for {
		w.At, w.Parts = time.Now().UTC(), d.meter.parts()
		w.Servers, w.Policies = d.servers(ctx)
		d.stream.Present(w)
		select {
		case <-ctx.Done():
			return
		case <-time.After(events.PresenceEvery):
		}
	}
}

// serversLimit is how long servers have to say how they are.
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
