// Package workers assembles processes: which activities a role offers, on which task queues, with which dependencies. It only wires.
package workers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/registry"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/fault"
	"github.com/collabui/collabui/internal/limits"
	"github.com/collabui/collabui/internal/llm"
	"github.com/collabui/collabui/internal/progress"
	"github.com/collabui/collabui/internal/record"
	"github.com/collabui/collabui/internal/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/system"
	"github.com/collabui/collabui/internal/tinylm"
	"github.com/collabui/collabui/trainer/tiny"
	"github.com/collabui/collabui/workflows"
)

// Roles that a worker can have; each is a task queue of the same name.
var Roles = []string{workflows.QueueControl, workflows.QueueRollout, workflows.QueueModel, workflows.QueueGPU}

// Options of one worker process.
type Options struct {
	Endpoints config.Endpoints
	Roles     []string
	Browsers  int
	Tabs      int // episodes at once per browser
	Updates   int // policy updates at once
	Logger    log.Logger
}

// Run serves until the context ends, then drains.
func Run(ctx context.Context, o Options) error {
	for _, r := range o.Roles {
		if !slices.Contains(Roles, r) {
			return fault.New(fault.Invalid, "unknown role %q; roles are %s", r, strings.Join(Roles, ", "))
		}
	}
	c, err := Dial(ctx, o.Endpoints, o.Logger)
	if err != nil {
		return err
	}
	defer c.Close()
	d, free, err := dependencies(o)
	if err != nil {
		return err
	}
	defer free()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var started []worker.Worker
	for _, r := range o.Roles {
		w := build(c, r, o, d, cancel)
		if err := w.Start(); err != nil {
			return fault.New(fault.Transient, "start worker %s: %w", r, err)
		}
		started = append(started, w)
	}
	<-ctx.Done()
	for _, w := range started {
		w.Stop()
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return fault.New(fault.Transient, "worker: %w", err) // who supervises starts another
	}
	return nil
}

// Dial connects to Temporal and waits for it for a while: services start side by side.
func Dial(ctx context.Context, e config.Endpoints, l log.Logger) (client.Client, error) {
	var err error
	for range 60 {
		var c client.Client
		if c, err = client.DialContext(ctx, client.Options{HostPort: e.Temporal, Namespace: e.Namespace, Logger: l, Identity: identity()}); err == nil {
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

// CheckNamespace says which search attributes a namespace lacks, and how to make them. A server that does not tell is trusted.
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

func dependencies(o Options) (*activities.Deps, func(), error) {
	bucket, err := store.Open(o.Endpoints.Store)
	if err != nil {
		return nil, nil, err
	}
	stream, err := progress.Open(o.Endpoints.Redis)
	if err != nil {
		return nil, nil, fault.New(fault.Invalid, "redis address %s is no redis:// URL", config.Redacted(o.Endpoints.Redis))
	}
	limiter, err := limits.Open(o.Endpoints.Redis, identity())
	if err != nil {
		return nil, nil, err
	}
	chat := llm.PolicyServer(o.Endpoints.Policy)
	open := func(e envadapters.Options) (envadapters.Suite, error) {
		return registry.Open(e, registry.Places{Browsers: o.Browsers, Tabs: o.Tabs})
	}
	d := &activities.Deps{Bucket: bucket, Chat: chat, Load: chat.Load, Open: open, Render: tinylm.Render, Fits: tinylm.Fits, Emit: stream.Emit, Threads: 2, Endpoint: endpoints(), Limits: limiter,
		Trainer: &tiny.Trainer{Bucket: bucket, CheckpointKey: checkpointKey}}
	return d, func() { activities.CloseSuites(d) }, nil
}

// Asker asks the chat endpoints of runs outside of a worker, for commands that check them. Keys are this process's.
func Asker(e config.Endpoints) (*activities.Models, error) {
	bucket, err := store.Open(e.Store)
	if err != nil {
		return nil, err
	}
	limiter, err := limits.Open(e.Redis, identity())
	return &activities.Models{Deps: &activities.Deps{Bucket: bucket, Endpoint: endpoints(), Limits: limiter}}, err
}

// endpoints makes one client per chat endpoint; keys and headers come from this process's environment.
func endpoints() func(spec.Model) (system.Chat, error) {
	var mu sync.Mutex
	known := map[string]system.Chat{}
	return func(m spec.Model) (system.Chat, error) {
		mu.Lock()
		defer mu.Unlock()
		id := record.Digest(m)
		if c, ok := known[id]; ok {
			return c, nil
		}
		c := llm.Config{BaseURL: m.BaseURL, Model: m.Model, CA: m.CA, Proxy: m.Proxy, Timeout: time.Duration(m.Timeout * float64(time.Second)), Schema: m.Schema, Images: m.Images,
			LogProbs: m.Logprobs, Seeds: m.Seeds, Headers: map[string]string{}}
		var err error
		if c.APIKey, err = secret(m.Key); err != nil {
			return nil, err
		}
		for k, v := range m.Headers {
			if name, ok := strings.CutPrefix(v, "$"); ok {
				if v, err = secret(name); err != nil {
					return nil, err
				}
			}
			c.Headers[k] = v
		}
		cl, err := llm.New(c)
		if err != nil {
			return nil, err
		}
		known[id] = cl
		return cl, nil
	}
}

// secret reads a variable that a specification names; none is an invalid fault, because no retry brings it.
func secret(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	v, err := config.Secret(name)
	if err == nil && v == "" {
		err = fault.New(fault.Invalid, "this worker has no %s: set it, or %s_FILE, and start it again", name, name)
	}
	return v, err
}

// checkpointKey puts a job's checkpoints beside its result: the job's id is a key of the store.
func checkpointKey(job string, step int) string {
	return fmt.Sprintf("%s-checkpoint-%06d.json", strings.TrimSuffix(job, ".json"), step)
}

// Prefetch is the number of episodes that a rollout worker takes beyond its places: they wait for a place in the worker, so that a place never waits for
// the way of a task through the queue.
const Prefetch = 2

// build registers what a role offers. Slots are the real bound of concurrency, of rollouts the suite's places.
func build(c client.Client, role string, o Options, d *activities.Deps, fatal func(error)) worker.Worker {
	w := worker.New(c, role, worker.Options{MaxConcurrentActivityExecutionSize: slots(role, o), DisableWorkflowWorker: role != workflows.QueueControl,
		WorkerStopTimeout: 5 * time.Second, OnFatalError: fatal, MaxHeartbeatThrottleInterval: 3 * time.Second})
	switch role {
	case workflows.QueueControl:
		for _, f := range workflows.All {
			w.RegisterWorkflow(f)
		}
		w.RegisterActivity(&activities.Control{Deps: d})
	case workflows.QueueRollout:
		w.RegisterActivity(&activities.Rollouts{Deps: d})
	case workflows.QueueModel:
		w.RegisterActivity(&activities.Models{Deps: d})
	case workflows.QueueGPU:
		w.RegisterActivity(&activities.GPU{Deps: d})
	}
	return w
}

func slots(role string, o Options) int {
	switch role {
	case workflows.QueueRollout:
		return o.Browsers*o.Tabs + Prefetch
	case workflows.QueueGPU:
		return o.Updates
	}
	return 4
}
