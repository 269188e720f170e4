// Package workers assembles processes: which activities a role offers, on which task queues, with which dependencies.
// It only wires.
package workers

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities/guard"
	"github.com/collabui/collabui/activities/roles"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/observe/telemetry"
	"github.com/collabui/collabui/workflows"
)

// Roles are the roles of a worker for which none are named. Each is a task queue of the same name; control has another
// one, too.
var Roles = []string{workflows.QueueControl, workflows.QueueRollout, workflows.QueueModel, workflows.QueueGPU}

// Options are those of one worker process. Numbers of 0 follow from the machine, see Options.fill.
type Options struct {
	Endpoints config.Endpoints
	Roles     []string
	Browsers  int
	Tabs      int           // concurrent episodes per browser
	Updates   int           // concurrent policy updates; with GPUs, one per GPU
	Calls     int           // concurrent activities of the role model
	Build     string        // names the build, for upgrades in the middle of runs; "": this worker has no version
	Drain     time.Duration // the time that activities get to finish when the worker is asked to stop
	Health    string        // HOST:PORT at which /health, /ready and /metrics are answered; "": nowhere
	Training  Training
	Serve     Serve
	Log       *slog.Logger
}

// Run serves until the context ends, then drains.
func Run(ctx context.Context, options Options) error {
	role, queues, err := split(options.Roles)
	if err != nil {
		return err
	}
	if err := options.fill(ctx); err != nil {
		return err
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &process{Options: options, metrics: telemetry.New()}
	if slices.Contains(options.Roles, workflows.QueueRollout) {
		p.metrics.Places(options.Browsers * options.Tabs)
	}
	if err := p.answerHealth(ctx); err != nil {
		return err
	}
	if role != "" {
		end, err := startServer(ctx, role, options, cancel)
		if err != nil {
			return err
		}
		defer func() { cancel(nil); end() }()
	}
	p.ready.Store(len(queues) == 0)
	if err := p.serve(ctx, queues, cancel); err != nil {
		return err
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return fault.New(fault.Transient, "worker: %w", err) // a supervisor starts another
	}

	return nil
}

// split returns the role that is asked over HTTP, or "", and the other roles, which have task queues.
func split(roles []string) (server string, queues []string, err error) {
	for _, r := range roles {
		switch {
		case slices.Contains(Roles, r):
			queues = append(queues, r)
		case !slices.Contains(Servers, r):
			known := strings.Join(append(slices.Clone(Roles), Servers...), ", ")

			return "", nil, fault.New(fault.Invalid, "unknown role %q; roles are %s", r, known)
		case server != "" && server != r:
			return "", nil, fault.New(fault.Invalid, "the roles %s and %s both listen at --listen: start a worker for "+
				"each of them", server, r)
		default:
			server = r
		}
	}

	return server, queues, nil
}

// process is a worker that runs.
type process struct {
	Options
	metrics *telemetry.Metrics
	ready   atomic.Bool // it takes work
}

// answerHealth answers until the context ends: /health says that the process does not hang, /ready that it takes work,
// and /metrics what it has done.
func (p *process) answerHealth(ctx context.Context) error {
	if p.Health == "" {
		return nil
	}
	listener, err := net.Listen("tcp", p.Health)
	if err != nil {
		return fault.New(fault.Invalid, "--health: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", httpd.Healthy)
	mux.Handle("GET /metrics", p.metrics.Handler())
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, r *http.Request) {
		if !p.ready.Load() {
			http.Error(w, "this worker takes no work yet, or no more", http.StatusServiceUnavailable)

			return
		}
		httpd.Healthy(w, r)
	})
	go func() { _ = httpd.Serve(ctx, listener, mux, 0) }()

	return nil
}

// serve works on the task queues until the context ends, then drains.
func (p *process) serve(ctx context.Context, queues []string, cancel func(error)) error {
	if len(queues) == 0 {
		<-ctx.Done()

		return nil
	}

	temporal, err := p.dial(ctx)
	if err != nil {
		return err
	}
	defer temporal.Close()
	if err := p.Endpoints.CheckRedisKind(ctx); err != nil {
		return err
	}
	d, err := open(p.Options, p.metrics)
	if err != nil {
		return err
	}
	defer d.suites.Close()
	claim, err := ClaimOf(ctx, temporal, p.Endpoints, "the worker "+identity())
	if err != nil {
		return err
	}
	d.guard = &guard.Guard{Bucket: d.bucket, Where: Where(p.Endpoints), Claim: claim}

	d.endpoints.Warn = d.warn(temporal)
	if slices.Contains(queues, workflows.QueueControl) {
		go d.watch(ctx, temporal)
	}

	var presence sync.WaitGroup
	defer presence.Wait()
	presence.Go(func() { d.present(ctx, queues) })

	p.Log.Info("worker started", p.describe()...)
	shared := d.activities(temporal)
	var started []worker.Worker
	for _, q := range queuesOf(queues) {
		w := build(temporal, q, p.Options, d, shared, cancel)
		if err := w.Start(); err != nil {
			return fault.New(fault.Transient, "start worker %s: %w", q, err)
		}
		started = append(started, w)
	}
	p.ready.Store(true)
	<-ctx.Done()

	p.ready.Store(false)
	p.Log.Info("worker draining", "limit", p.Drain)
	var wg sync.WaitGroup
	for _, w := range started { // concurrently: each gets the whole time of the drain
		wg.Go(w.Stop)
	}
	wg.Wait()

	return nil
}

// dial connects to Temporal. The client counts what it does.
func (p *process) dial(ctx context.Context) (client.Client, error) {
	options, err := ClientOptions(p.Endpoints, p.Log)
	if err != nil {
		return nil, err
	}
	if options.MetricsHandler, err = p.metrics.Temporal(); err != nil {
		return nil, err
	}

	return dial(ctx, options)
}

// Prefetch is the number of episodes that a rollout worker takes beyond its places. They wait for a place in the
// worker, so that a place never waits for a task to pass through the queue.
const Prefetch = 2

// endTraining is what a training program gets to end, and its newest checkpoint to be stored, when the worker drains.
// Updates do not run to their end.
const endTraining = 45 * time.Second

// build registers what is done on a task queue. The number of concurrent activities is the real bound of concurrency.
func build(
	temporal client.Client, queue string, o Options, d *dependencies, shared roles.Dependencies, fatal func(error),
) worker.Worker {
	options := worker.Options{
		MaxConcurrentActivityExecutionSize: concurrency(queue, o),
		DisableWorkflowWorker:              queue != workflows.QueueControl,
		WorkerStopTimeout:                  o.Drain,
		OnFatalError:                       fatal,
		Interceptors:                       []interceptor.WorkerInterceptor{&metered{metrics: d.metrics}, d.guard},
		DeploymentOptions:                  o.version(),
	}
	if queue == workflows.QueueGPU {
		options.WorkerStopTimeout = max(o.Drain, endTraining)
	}
	if o.onOneMachine() {
		options.MaxHeartbeatThrottleInterval = nearBeat
		options.Interceptors = append(options.Interceptors, &Near{})
	}

	return register(worker.New(temporal, queue, options), queue, o, shared)
}

// register registers what is done on a task queue.
func register(w worker.Worker, queue string, options Options, shared roles.Dependencies) worker.Worker {
	switch queue {
	case workflows.QueueControl:
		for _, f := range workflows.All {
			w.RegisterWorkflowWithOptions(f, workflow.RegisterOptions{VersioningBehavior: options.behavior(f)})
		}
		w.RegisterActivity(shared.Control())
	case workflows.QueueCare:
		w.RegisterActivity(shared.Control())
	case workflows.QueueRollout:
		w.RegisterActivity(shared.Rollouts())
	case workflows.QueueModel:
		w.RegisterActivity(shared.Models())
	case workflows.QueueGPU:
		w.RegisterActivity(shared.GPU())
	}

	return w
}

// controlPerCore is the number of concurrent activities of each queue of the role control, per core: they wait for the
// store, and for what others run.
const controlPerCore = 4

// concurrency is the number of concurrent activities of a task queue.
func concurrency(queue string, options Options) int {
	switch queue {
	case workflows.QueueRollout:
		return options.Browsers*options.Tabs + Prefetch
	case workflows.QueueGPU:
		return options.Updates
	case workflows.QueueModel:
		return options.Calls
	}

	return controlPerCore * runtime.GOMAXPROCS(0)
}
