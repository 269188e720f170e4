package workers

import (
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/policy/limits"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/process/events"
	"github.com/collabui/collabui/internal/process/notify"
	"github.com/collabui/collabui/internal/process/telemetry"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/workers/catalog"
)

// policyTimeout limits one call to one policy server: language models answer more slowly than the small policy.
const policyTimeout = 2 * time.Minute

// updateThreads is the number of threads of one update of the small policy.
const updateThreads = 2

// dependencies are what the activities of this process share. Each type of activity gets the few that it needs.
type dependencies struct {
	bucket    store.Bucket
	guard     *activities.Guard
	stream    *events.Stream
	metrics   *telemetry.Metrics
	log       *slog.Logger
	suites    *activities.Suites
	policies  *meteredPolicies
	endpoints *endpoints.Endpoints
	view      string // address of the viewer
	namespace string
	trainers  map[string]trainer.Trainer
	webhook   notify.Webhook // of notices
}

func open(options Options, counts *telemetry.Metrics) (*dependencies, error) {
	s3, err := options.Endpoints.OpenStore()
	if err != nil {
		return nil, err
	}
	client, err := options.Endpoints.OpenRedis()
	if err != nil {
		return nil, err
	}
	stream := events.Over(client)
	policies, err := llm.PolicyServers(options.Endpoints.Policies(), llm.Config{
		Key: options.Endpoints.PolicyBearer(), Timeout: policyTimeout, Kernel: tinylm.Kernel(),
	})
	if err != nil {
		return nil, err
	}
	chats, err := chatEndpoints(options.Endpoints, limitsFail(counts, options.Log))
	if err != nil {
		return nil, err
	}
	webhook, err := notify.Load()
	if err != nil {
		return nil, err
	}

	chats.Called = counts.Call
	s3.Observe(counts.Store)

	return &dependencies{
		bucket: s3, stream: stream, metrics: counts, log: options.Log, policies: &meteredPolicies{policies, counts},
		endpoints: chats, view: options.Endpoints.View, namespace: options.Endpoints.Namespace,
		suites: activities.NewSuites(func(e envadapters.Options) (envadapters.Suite, error) {
			return catalog.OpenEnvironment(e, catalog.Places{Browsers: options.Browsers, Tabs: options.Tabs})
		}),
		trainers: catalog.OpenTrainers(options.Training.host(s3)), webhook: webhook,
	}, nil
}

// limitsFail counts turns that Redis did not give, and logs when that begins and ends.
func limitsFail(counts *telemetry.Metrics, log *slog.Logger) func(error) {
	failing := false

	return func(err error) {
		if err != nil {
			counts.LimitFailed()
		}
		switch {
		case err != nil && !failing:
			log.Warn("limits are not shared: this worker keeps to its own part of them", "error", err)
		case err == nil:
			log.Info("limits are shared again")
		}
		failing = err != nil
	}
}

func (d *dependencies) common() activities.Common {
	return activities.Common{
		Bucket: d.bucket, Catalog: catalog.All{}, Emit: d.emit, Log: d.log, Kernel: tinylm.Kernel(),
		Metrics: d.metrics,
	}
}

// emit counts an event and sends it.
func (d *dependencies) emit(run string, e events.Event) {
	d.metrics.Event(run, e)
	d.stream.Emit(run, e)
}

func (d *dependencies) control(c client.Client) *activities.Control {
	return &activities.Control{
		Common: d.common(), Suites: d.suites, Notices: d.notices(c), View: d.view,
	}
}

func (d *dependencies) rollouts() *activities.Rollouts {
	return &activities.Rollouts{
		Common: d.common(), Suites: d.suites, Policies: d.policies, Endpoints: d.endpoints, Wording: smallPolicy,
	}
}

func (d *dependencies) models() *activities.Models {
	return &activities.Models{
		Common: d.common(), Policies: d.policies, Scores: d.policies, Endpoints: d.endpoints, Wording: smallPolicy,
	}
}

func (d *dependencies) gpu() *activities.GPU {
	return &activities.GPU{
		Common: d.common(), Trainers: d.trainers, Policies: d.policies, Scores: d.policies, Load: d.policies.Load,
		Ready: d.policies.Ready, Threads: updateThreads,
	}
}

// smallPolicy is the wording of the embedded policy.
var smallPolicy = activities.Wording{Render: tinylm.Render, Fits: tinylm.Fits, Over: tinylm.Over}

// chatEndpoints reaches the chat endpoints of runs with the keys of this process. failed hears of every turn that Redis
// does not give.
func chatEndpoints(e config.Endpoints, failed func(error)) (*endpoints.Endpoints, error) {
	bucket, err := e.OpenStore()
	if err != nil {
		return nil, err
	}
	client, err := e.OpenRedis()
	if err != nil {
		return nil, err
	}
	c := &clients{known: map[string]chat.Model{}}
	turns := limits.Over(client, identity())
	turns.Failed = failed

	return &endpoints.Endpoints{Bucket: bucket, Connect: c.connect, Limits: turns}, nil
}

// clients are the clients of chat endpoints: one for each.
type clients struct {
	mu    sync.Mutex
	known map[string]chat.Model // clients by the digest of the endpoint's settings and secrets
}

// connect returns the client of an endpoint. Its key and headers come from this process's environment, or from files,
// which may change.
func (c *clients) connect(model spec.Model) (chat.Model, error) {
	conf := llm.Config{
		BaseURL: model.BaseURL, Model: model.Model, CA: model.CA, Proxy: model.Proxy, Named: true,
		Timeout: time.Duration(model.Timeout * float64(time.Second)),
		Schema:  string(model.Schema), Tokens: model.TokensKey, Images: model.Images, LogProbs: model.Logprobs,
		Seeds:   model.Seeds,
		Headers: map[string]string{},
	}
	key, err := secret(model.Key, model)
	if err != nil {
		return nil, err
	}
	conf.Key = func() string { return key }
	for k, v := range model.Headers {
		if name, ok := strings.CutPrefix(v, "$"); ok {
			if v, err = secret(name, model); err != nil {
				return nil, err
			}
		}
		conf.Headers[k] = v
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	id := runs.Digest([]any{model, key, conf.Headers})
	if known, ok := c.known[id]; ok {
		return known, nil
	}
	client, err := llm.New(conf)
	if err == nil {
		c.known[id] = client
	}

	return client, err
}
