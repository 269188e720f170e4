package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/httpd"
)

// refusal maps an error to an HTTP response: 503 if the failure may pass, and 409 if it does not.
func refusal(err error) *httpd.Refusal {
	var refused *httpd.Refusal
	if errors.As(err, &refused) {
		return &httpd.Refusal{Status: refused.Status, After: refused.After, Err: err}
	}

	status := http.StatusServiceUnavailable
	var tooLarge *http.MaxBytesError

	switch kind := fault.KindOf(err); {
	case errors.As(err, &tooLarge):
		status = http.StatusRequestEntityTooLarge
	case kind == fault.Corrupt || kind == fault.Invalid:
		status = http.StatusConflict
	}

	return &httpd.Refusal{Status: status, Err: err}
}

// badJSON returns the refusal of a request whose body is not the expected JSON.
func badJSON(err error) error {
	return httpd.Refuse(http.StatusBadRequest, "the request's JSON: %w", err)
}

func decode(r *http.Request, value any) error {
	if err := json.NewDecoder(io.LimitReader(r.Body, maxControl)).Decode(value); err != nil {
		return badJSON(err)
	}

	return nil
}

// models lists the policies that are ready, with the engine's window, which also applies to policies loaded later.
func (g *Gateway) models(w http.ResponseWriter, r *http.Request) error {
	g.mu.Lock()
	ready := maps.Clone(g.policies)
	maps.DeleteFunc(ready, func(_ string, p *policy) bool { return p.busy != nil })
	g.mu.Unlock()

	var list []map[string]any
	for _, name := range slices.Sorted(maps.Keys(ready)) {
		list = append(list, httpd.Model(name))
	}
	has, _ := g.list(r.Context()) // an engine that does not answer now has no window
	httpd.WriteModels(w, has.window, list...)

	return nil
}

// load makes a policy ready. Loading a policy that is already loaded succeeds.
func (g *Gateway) load(w http.ResponseWriter, r *http.Request) error {
	name, err := httpd.ReadAdapter(io.LimitReader(r.Body, maxControl))
	if err != nil {
		return badJSON(err)
	}

	if err := g.prepare(r.Context(), name); err != nil {
		return err
	}
	httpd.WriteAdded(w, name)

	return nil
}

// prepare makes a policy ready.
func (g *Gateway) prepare(ctx context.Context, name string) error {
	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()

	h, err := g.acquire(ctx, name)
	if err == nil {
		g.release(h)
	}

	return err
}

func (g *Gateway) unload(w http.ResponseWriter, r *http.Request) error {
	name, err := httpd.ReadAdapter(io.LimitReader(r.Body, maxControl))
	if err != nil {
		return badJSON(err)
	}

	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()

	g.mu.Lock()
	p := g.policies[name]
	if p == nil || p.busy != nil {
		g.mu.Unlock()

		return httpd.Refuse(http.StatusNotFound, "model %q is not loaded", name)
	}
	p.begin()
	g.mu.Unlock()

	if err := g.evict(context.WithoutCancel(r.Context()), p); err != nil {
		return err
	}
	httpd.WriteRemoved(w, name)

	return nil
}

// health responds with 200 if the engine is healthy and awake.
func (g *Gateway) health(w http.ResponseWriter, r *http.Request) error {
	g.mu.Lock()
	closed := g.closed
	asleep := g.asleep
	lease := g.lease
	g.mu.Unlock()

	switch {
	case asleep:
		return httpd.Later("the engine sleeps; its lease ends %s", lease.UTC().Format(time.RFC3339))
	case closed:
		return httpd.Later("the engine is being put to sleep")
	}

	if err := g.healthy(r.Context()); err != nil {
		return err
	}
	httpd.Healthy(w, r)

	return nil
}
