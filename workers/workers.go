// Package workers assembles processes: which activities a role offers, on which task queues, with which dependencies.
// It only wires.
//
// It imports activities, envadapters, fault, internal/method/chat, internal/method/spec, internal/policy/endpoints,
// internal/policy/gateway, internal/policy/limits, internal/policy/llm, internal/policy/serving,
// internal/policy/tinylm, internal/process/config, internal/process/events, internal/process/logging, internal/store,
// internal/store/runs, trainer, trainer/external, workers/catalog and workflows.
package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/process/logging"
	"github.com/collabui/collabui/workflows"
)

// Roles that a worker has where none are named; each is a task queue of the same name.
var Roles = []string{workflows.QueueControl, workflows.QueueRollout, workflows.QueueModel, workflows.QueueGPU}

// RoleServe is the gateway beside one server of language models. It has no task queue: who needs a policy asks it over
// HTTP.
const RoleServe = "serve"

// Options of one worker process. Numbers of 0 follow from the machine, see Options.fill.
type Options struct {
	Endpoints config.Endpoints
	Roles     []string
	Browsers  int
	Tabs      int           // episodes at once per browser
	Updates   int           // policy updates at once; with GPUs one per GPU
	Calls     int           // activities of the role model at once
	Drain     time.Duration // what activities get to end in when the worker is asked to stop
	Training  Training
	Serve     Serve
	Log       *slog.Logger
}

// Run serves until the context ends, then drains.
func Run(ctx context.Context, o Options) error {
	for _, r := range o.Roles {
		if r != RoleServe && !slices.Contains(Roles, r) {
			return fault.New(fault.Invalid, "unknown role %q; roles are %s, %s", r, strings.Join(Roles, ", "), RoleServe)
		}
	}
	if err := o.fill(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if slices.Contains(o.Roles, RoleServe) {
		end, err := startGateway(ctx, o, cancel)
		if err != nil {
			return err
		}
		defer func() { cancel(nil); end() }()
	}
	queues := slices.DeleteFunc(slices.Clone(o.Roles), func(r string) bool { return r == RoleServe })
	if err := serve(ctx, o, queues, cancel); err != nil {
		return err
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return fault.New(fault.Transient, "worker: %w", err) // who supervises starts another
	}
	return nil
}

// serve works on the task queues until the context ends, then drains.
func serve(ctx context.Context, o Options, queues []string, cancel func(error)) error {
	if len(queues) == 0 {
		<-ctx.Done()
		return nil
	}
	c, err := Dial(ctx, o.Endpoints, o.Log)
	if err != nil {
		return err
	}
	defer c.Close()
	d, err := open(o)
	if err != nil {
		return err
	}
	defer d.suites.Close()
	o.Log.Info(o.describe())
	var started []worker.Worker
	for _, r := range queues {
		w := build(c, r, o, d, cancel)
		if err := w.Start(); err != nil {
			return fault.New(fault.Transient, "start worker %s: %w", r, err)
		}
		started = append(started, w)
	}
	<-ctx.Done()
	var wg sync.WaitGroup
	for _, w := range started { // all at once: each has the whole of the drain's time
		wg.Go(w.Stop)
	}
	wg.Wait()
	return nil
}

// ClientOptions say how Temporal is reached; unreadable certificates are an invalid fault.
func ClientOptions(e config.Endpoints, l *slog.Logger) (client.Options, error) {
	o := client.Options{HostPort: e.Temporal, Namespace: e.Namespace, Logger: logging.Temporal(l), Identity: identity()}
	var err error
	o.ConnectionOptions.TLS, err = e.TLS()
	if e.TemporalKey != "" {
		o.Credentials = client.NewAPIKeyStaticCredentials(e.TemporalKey)
	}
	return o, err
}

// Dial connects to Temporal and waits for it for a while: services start side by side.
func Dial(ctx context.Context, e config.Endpoints, l *slog.Logger) (client.Client, error) {
	o, err := ClientOptions(e, l)
	if err != nil {
		return nil, err
	}
	for range 60 {
		var c client.Client
		if c, err = client.DialContext(ctx, o); err == nil {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
	return nil, fault.New(fault.Transient, "no Temporal at %s: %w", e.Temporal, err)
}

// CheckNamespace says which search attributes a namespace lacks, and how to make them. A server that does not tell is
// trusted.
func CheckNamespace(ctx context.Context, c client.Client, namespace string) error {
	res, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return nil // Temporal Cloud keeps this from clients
	}
	missing := ""
	for _, k := range workflows.SearchAttributes {
		if _, ok := res.CustomAttributes[k.GetName()]; !ok {
			missing += fmt.Sprintf(" --name %s --type %s", k.GetName(), k.GetValueType())
		}
	}
	if missing == "" {
		return nil
	}
	return fault.New(fault.Invalid, "namespace %q of the Temporal server lacks search attributes; make them with: temporal operator search-attribute create --namespace %s%s", namespace, namespace, missing)
}

func identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%d@%s", os.Getpid(), host)
}

// Prefetch is the number of episodes that a rollout worker takes beyond its places: they wait for a place in the
// worker, so that a place never waits for the way of a task through the queue.
const Prefetch = 2

// endTraining is what a training program gets to end, and its newest checkpoint to be stored, when the worker drains:
// updates end at once, they do not run to their end.
const endTraining = 45 * time.Second

// build registers what a role offers. Slots are the real bound of concurrency, of rollouts the suite's places.
func build(c client.Client, role string, o Options, d *dependencies, fatal func(error)) worker.Worker {
	drain := o.Drain
	if role == workflows.QueueGPU {
		drain = max(drain, endTraining)
	}
	w := worker.New(c, role, worker.Options{MaxConcurrentActivityExecutionSize: slots(role, o), DisableWorkflowWorker: role != workflows.QueueControl,
		WorkerStopTimeout: drain, OnFatalError: fatal, MaxHeartbeatThrottleInterval: 3 * time.Second})
	switch role {
	case workflows.QueueControl:
		for _, f := range workflows.All {
			w.RegisterWorkflow(f)
		}
		w.RegisterActivity(d.control())
	case workflows.QueueRollout:
		w.RegisterActivity(d.rollouts())
	case workflows.QueueModel:
		w.RegisterActivity(d.models())
	case workflows.QueueGPU:
		w.RegisterActivity(d.gpu())
	}
	return w
}

func slots(role string, o Options) int {
	switch role {
	case workflows.QueueRollout:
		return o.Browsers*o.Tabs + Prefetch
	case workflows.QueueGPU:
		return o.Updates
	case workflows.QueueModel:
		return o.Calls
	}
	return 4
}
