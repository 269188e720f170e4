package workers

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/guard"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/activities/roles"
	"github.com/collabui/collabui/activities/training"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/observe/notify"
	"github.com/collabui/collabui/internal/observe/telemetry"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/policy/limits"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/workers/catalog"
)

// policyTimeout limits one call to one policy server: language models answer more slowly than the small policy.
const policyTimeout = 2 * time.Minute

// updateThreads is the number of threads of one update of the small policy.
const updateThreads = 2

// dependencies are what the activities of this process share.
type dependencies struct {
	bucket    store.Bucket
	guard     *guard.Guard
	stream    *events.Stream
	metrics   *telemetry.Metrics
	log       *slog.Logger
	suites    *play.Suites
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
		Picture: pictures(s3),
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
		suites: play.NewSuites(func(e envadapters.Options) (envadapters.Suite, error) {
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

// emit counts an event and sends it.
func (d *dependencies) emit(run string, event events.Event) {
	d.metrics.Event(run, event)
	d.stream.Emit(run, event)
}

// activities returns the dependencies of all activities. They share what this process knows of runs.
func (d *dependencies) activities(temporal client.Client) roles.Dependencies {
	var servers []training.Server
	for _, server := range d.policies.Servers() {
		servers = append(servers, training.Server{Name: server.URL, Scorer: server})
	}

	return roles.Dependencies{
		Common: activities.Common{
			Bucket: d.bucket, Catalog: catalog.All{}, Emit: d.emit, Log: activities.Log{Logger: d.log},
			Metrics: d.metrics, Runs: activities.NewRuns(d.bucket, tinylm.Kernel()),
		},
		Suites: d.suites, Policies: d.policies, Scores: d.policies, Endpoints: d.endpoints, Wording: smallPolicy,
		Trainers: d.trainers, Threads: updateThreads, Load: d.policies.Load, Ready: d.policies.Ready,
		Servers: servers,
		Notices: d.notices(temporal), Missed: missedFirings(temporal), View: d.view,
	}
}

// smallPolicy is the wording of the embedded policy.
var smallPolicy = play.Wording{Render: tinylm.Render, Fits: tinylm.Fits, Over: tinylm.Over}

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
	c := &clients{picture: pictures(bucket), known: map[string]chat.Model{}}
	turns := limits.Over(client, identity())
	turns.Failed = failed

	return &endpoints.Endpoints{Bucket: bucket, Connect: c.connect, Limits: turns}, nil
}

// pictures returns how the clients of models read the pictures of requests.
func pictures(bucket store.Bucket) func(ctx context.Context, digest string) ([]byte, error) {
	return func(ctx context.Context, digest string) ([]byte, error) { return store.GetBlob(ctx, bucket, digest) }
}

// clients are the clients of chat endpoints: one for each.
type clients struct {
	picture func(ctx context.Context, digest string) ([]byte, error)

	mu    sync.Mutex
	known map[string]chat.Model // clients by the digest of the endpoint's settings and secrets
}

// connect returns the client of an endpoint. Its key and headers come from this process's environment, or from files,
// which may change.
func (c *clients) connect(m spec.Model) (chat.Model, error) {
	conf := llm.Config{
		BaseURL: m.BaseURL, Model: m.Model, CA: m.CA, Proxy: m.Proxy, Named: true,
		Timeout: time.Duration(m.Timeout * float64(time.Second)),
		Schema:  string(m.Schema), Tokens: m.TokensKey, Images: m.Images, LogProbs: m.Logprobs, Seeds: m.Seeds,
		Headers: map[string]string{}, Picture: c.picture,
	}
	key, err := secret(m.Key, m)
	if err != nil {
		return nil, err
	}
	conf.Key = func() string { return key }
	for k, value := range m.Headers {
		if name, ok := strings.CutPrefix(value, "$"); ok {
			if value, err = secret(name, m); err != nil {
				return nil, err
			}
		}
		conf.Headers[k] = value
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	id := runs.Digest([]any{m, key, conf.Headers})
	if known, ok := c.known[id]; ok {
		return known, nil
	}
	client, err := llm.New(conf)
	if err == nil {
		c.known[id] = client
	}

	return client, err
}
