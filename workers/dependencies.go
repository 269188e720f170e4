package workers

import (
	"strings"
	"sync"
	"time"

	"github.com/collabui/collabui/internal/method/chat"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/limits"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/process/events"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers/catalog"
)

// policyTimeout is of one call to one policy server: language models answer slower than the small policy.
const policyTimeout = 2 * time.Minute

func dependencies(o Options) (*activities.Deps, func(), error) {
	bucket, err := store.Open(o.Endpoints.Store)
	if err != nil {
		return nil, nil, err
	}
	stream, err := events.Open(o.Endpoints.Redis)
	if err != nil {
		return nil, nil, fault.New(fault.Invalid, "redis address %s is no redis:// URL", config.Redacted(o.Endpoints.Redis))
	}
	limiter, err := limits.Open(o.Endpoints.Redis, identity())
	if err != nil {
		return nil, nil, err
	}
	model, err := llm.PolicyServers(o.Endpoints.Policies(), o.Endpoints.PolicyKey, policyTimeout)
	if err != nil {
		return nil, nil, err
	}
	open := func(e envadapters.Options) (envadapters.Suite, error) {
		return catalog.OpenEnvironment(e, catalog.Places{Browsers: o.Browsers, Tabs: o.Tabs})
	}
	d := &activities.Deps{Bucket: bucket, Chat: model, Load: model.Load, Open: open, Render: tinylm.Render, Fits: tinylm.Fits, Emit: stream.Emit, Threads: 2, Endpoint: endpoints(), Limits: limiter,
		Catalog: catalog.All{}, Trainers: catalog.OpenTrainers(o.Training.host(bucket))}
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
func endpoints() func(spec.Model) (chat.Model, error) {
	var mu sync.Mutex
	known := map[string]chat.Model{}
	return func(m spec.Model) (chat.Model, error) {
		mu.Lock()
		defer mu.Unlock()
		id := runs.Digest(m)
		if c, ok := known[id]; ok {
			return c, nil
		}
		c := llm.Config{BaseURL: m.BaseURL, Model: m.Model, CA: m.CA, Proxy: m.Proxy, Timeout: time.Duration(m.Timeout * float64(time.Second)), Schema: string(m.Schema), Images: m.Images,
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
