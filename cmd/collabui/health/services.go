package health

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/local/supervisor"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/observe/logging"
	"github.com/collabui/collabui/internal/policy/limits"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/workers"
)

// ProbeLimit bounds every check of a service. The checks run concurrently, so all results are there within 3 seconds.
const ProbeLimit = 2500 * time.Millisecond

// Services checks the services of the data folder or of the cluster.
func Services(ctx context.Context, a *app.App) []Finding {
	var out []Finding
	if !a.Cluster {
		st, alive := supervisor.Read(a.Data)
		if !alive {
			return []Finding{{What: "services", OK: true, Detail: fmt.Sprintf(
				"none run for %s; %s or %s starts them", a.Data, a.Typed("up"), a.Typed("train"))}}
		}
		out = append(out, supervisorFinding(a, st))
	}
	endpoints, err := a.Endpoints()
	if err != nil {
		return append(out, Finding{What: "services", Detail: err.Error()})
	}
	if missing := endpoints.Missing(); a.Cluster && len(missing) > 0 {
		out = append(out, Finding{
			What: "addresses", Detail: strings.Join(missing, ", ") + ": not set",
			Fix: "set them as docs/run-across-machines.md explains; what has an address is checked below",
		})
	}

	return append(out, Probe(ctx, a, endpoints)...)
}

// supervisorFinding reports since when a supervisor runs, and what it waits for until it is ready.
func supervisorFinding(a *app.App, st supervisor.State) Finding {
	finding := Finding{
		What: "supervisor", OK: st.Problem == "",
		Detail: strings.TrimSpace(fmt.Sprintf("pid %d since %s %s", st.PID, st.Started.Format(time.RFC3339),
			st.Problem)),
	}
	if st.Ready || !finding.OK {
		return finding
	}
	var started []string
	for name, service := range st.Services {
		if service.Addr != "" {
			started = append(started, name)
		}
	}
	slices.Sort(started)
	finding.Detail += ": the services are still starting; begun are " + strings.Join(started, ", ")
	finding.Fix = a.Typed("up") + " waits until they are ready"

	return finding
}

// Probe makes one request to every service that has an address, and returns a finding for each, except for policy
// servers. Services that have not started have no address.
func Probe(ctx context.Context, a *app.App, endpoints config.Endpoints) []Finding {
	d := diagnosis{App: a}
	if !a.Cluster {
		d.state, _ = supervisor.Read(a.Data)
	}
	ctx, cancel := context.WithTimeout(ctx, ProbeLimit)
	defer cancel()

	checks := []func(context.Context, config.Endpoints) []Finding{
		d.temporal, d.store, d.redis, d.policies, d.worker, d.viewer,
	}
	found := make([][]Finding, len(checks))
	var wg sync.WaitGroup
	for i, check := range checks {
		wg.Go(func() { found[i] = check(ctx, endpoints) })
	}
	wg.Wait()

	var out []Finding
	for _, findings := range found {
		out = append(out, findings...)
	}

	return out
}

// diagnosis is a check of the services.
type diagnosis struct {
	*app.App
	state supervisor.State // the supervisor's record of the services
}

// finding returns the finding about a service: err describes what is wrong.
func (d diagnosis) finding(name supervisor.Name, addr string, err error) []Finding {
	f := Finding{What: name, OK: err == nil, Detail: addr}
	if err != nil && d.state.PID > 0 && !d.state.Ready && d.state.Problem == "" {
		f.OK = true
		f.Detail += ": still starting"

		return []Finding{f}
	}
	if err != nil {
		f.Detail = strings.TrimPrefix(f.Detail+": "+OneLine(err), ": ")
		// The logs of services that run elsewhere are not here.
		log := supervisor.LogPath(d.Data, name)
		if _, none := os.Stat(log); none == nil && !d.Cluster {
			f.Fix = "see " + log
		}
	}
	service := d.state.Services[name]
	if service.Problem != "" {
		f.OK = false
		f.Detail = f.Detail + " (down: " + service.Problem + ")"
	}
	if service.Restarts > 0 {
		f.Detail += " (restarted " + terminal.Count(service.Restarts, "time") + ")"
	}

	return []Finding{f}
}

// OneLine returns an error without the line breaks that some clients insert.
func OneLine(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no answer within %v", ProbeLimit)
	}

	return strings.Join(strings.Fields(err.Error()), " ")
}

func (d diagnosis) temporal(ctx context.Context, endpoints config.Endpoints) []Finding {
	if endpoints.Temporal == "" {
		return nil
	}
	options, err := workers.ClientOptions(endpoints, logging.Silent())
	if err != nil {
		return d.finding(supervisor.Temporal, endpoints.Temporal, err)
	}
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return d.finding(supervisor.Temporal, endpoints.Temporal, err)
	}
	defer c.Close()
	out := d.finding(supervisor.Temporal, endpoints.Temporal, nil)
	var all []Stuck
	DescribeOpen(ctx, c, "", nil, func(id string, response *workflowservice.DescribeWorkflowExecutionResponse) {
		all = AddStuck(all, id, response.PendingWorkflowTask)
	})
	for _, stuck := range all {
		out = append(out, Finding{
			What: "workflow", Detail: stuck.String(),
			Fix: "start workers of the build that began it, or restart those that run, if their log names a bug of " +
				"the build; what is recorded is kept in any case",
		})
	}

	return out
}

func (d diagnosis) store(ctx context.Context, endpoints config.Endpoints) []Finding {
	if endpoints.Store.Endpoint == "" {
		return nil
	}
	bucket, err := endpoints.OpenStore()
	if err == nil {
		err = bucket.Check(ctx)
	}

	return d.finding(supervisor.S3, endpoints.StoreURL(), err)
}

func (d diagnosis) redis(ctx context.Context, endpoints config.Endpoints) []Finding {
	addr := config.Redacted(endpoints.Redis)
	if addr == "" && !d.Cluster {
		return nil
	}
	if addr == "" {
		addr = "no address is given: no live progress, and every worker keeps to its own share of limits"
	}
	client, err := endpoints.OpenRedis()
	if client != nil {
		defer func() { _ = client.Close() }()
		err = checkRedis(ctx, client)
	}

	return d.finding(supervisor.Redis, addr, err)
}

// checkRedis returns the reason why this program cannot use Redis, or nil.
func checkRedis(ctx context.Context, client redis.UniversalClient) error {
	if err := config.CheckRedis(ctx, client); err != nil {
		return err
	}
	if err := events.Over(client).Check(ctx); err != nil {
		return fmt.Errorf("no live progress: %w", err)
	}

	return limits.Check(ctx, client)
}

func (d diagnosis) policies(ctx context.Context, endpoints config.Endpoints) (out []Finding) {
	if len(endpoints.Policies()) == 0 {
		return nil
	}
	servers, err := llm.PolicyServers(endpoints.Policies(), llm.Config{Key: endpoints.PolicyBearer()})
	if err != nil {
		return d.finding(supervisor.Policy, config.Redacted(endpoints.Policy), err)
	}
	for _, server := range servers.Health(ctx) {
		err = nil
		if !server.OK {
			err = errors.New(server.Detail)
		}
		out = append(out, d.finding(supervisor.Policy, server.URL, err)...)
	}

	return out
}

// viewer checks the viewer of the data folder. A viewer elsewhere serves people only, and nothing here depends on it.
func (d diagnosis) viewer(ctx context.Context, endpoints config.Endpoints) []Finding {
	service, ok := d.state.Services[supervisor.Viewer]
	if d.Cluster || !ok || service.External {
		return nil
	}

	return d.finding(supervisor.Viewer, endpoints.View, supervisor.HTTPHealth(service.Addr+"/health")(ctx))
}

// worker checks the worker of the data folder or, on a cluster, queries Temporal for the workers of every task queue.
func (d diagnosis) worker(ctx context.Context, endpoints config.Endpoints) []Finding {
	if !d.Cluster {
		addr := d.state.Services[supervisor.Worker].Addr
		if addr == "" {
			return nil
		}

		return d.finding(supervisor.Worker, addr, supervisor.HTTPHealth("http://"+addr+"/health")(ctx))
	}
	if endpoints.Temporal == "" {
		return nil
	}
	options, err := workers.ClientOptions(endpoints, logging.Silent())
	if err != nil {
		return d.finding(supervisor.Worker, "", err)
	}
	temporal, err := client.DialContext(ctx, options)
	if err != nil {
		return nil // the finding about Temporal explains it
	}
	defer temporal.Close()

	var out []Finding
	for _, queue := range workers.Roles {
		finding := Finding{What: supervisor.Worker + " " + queue}
		res, err := temporal.DescribeTaskQueue(ctx, queue, enums.TASK_QUEUE_TYPE_ACTIVITY)
		switch {
		case err != nil:
			finding.Detail = OneLine(err)
		case len(res.Pollers) == 0:
			finding.Detail = "no worker has asked for work in the last minutes"
			finding.Fix = "`collabui worker --roles " + queue + "` on a machine for it"
		default:
			finding.OK = true
			finding.Detail = "polled by " + terminal.Count(len(res.Pollers), "worker")
		}
		out = append(out, finding)
	}

	return out
}
