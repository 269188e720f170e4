package workers

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/collabui/collabui/internal/policy/aliases"
	"github.com/collabui/collabui/internal/policy/gateway"
	"github.com/collabui/collabui/internal/policy/serving"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/trainer/external"
)

// Serve is what the role serve needs.
type Serve struct {
	Listen   string        // HOST:PORT of the gateway
	TLS      serving.TLS   // of the gateway
	Server   string        // URL of the server next to it, without /v1
	Engine   string        // vllm or sglang
	Key      func() string // the server's API key of the moment; "" or nil: it needs none
	Model    string        // folder of the base model that the server serves; "": its identity is not checked
	Base     string        // the server's name of the base model; "": the first that it lists
	Adapters string        // folder that the server also reads; "": in the working folder
	Keep     int           // adapters that are loaded concurrently
	Lines    []string      // whose accepted policies have aliases
}

// startGateway serves until the context ends. end waits until the requests in flight are answered. A listener that
// breaks ends the worker.
func startGateway(ctx context.Context, o Options, fatal func(error)) (end func(), err error) {
	b, err := o.Endpoints.OpenStore()
	if err != nil {
		return nil, err
	}

	s := o.Serve
	g := gateway.Options{
		Bucket: b, Engine: s.Engine, Server: s.Server, Key: s.Key, ClientKey: o.Endpoints.PolicyKeys(),
		Base: s.Base, Adapters: s.Adapters, Keep: s.Keep, Aliases: aliases.New(s.Lines),
		Log: func(format string, args ...any) { o.Log.Warn(fmt.Sprintf(format, args...)) },
	}
	if g.Adapters == "" {
		g.Adapters = filepath.Join(o.Training.Work, "adapters")
	}
	if s.Model != "" {
		m, err := external.ModelOf(s.Model)
		if err != nil {
			return nil, err
		}
		g.Model = &m
	}

	handler, err := gateway.New(g)
	if err != nil {
		return nil, err
	}
	l, err := serving.Listen(s.Listen, o.Endpoints.PolicyKey, config.EnvPolicyKey, s.TLS)
	if err != nil {
		return nil, err
	}

	ended := make(chan struct{})
	go handler.Run(ctx)
	go func() {
		defer close(ended)
		if err := serving.Serve(ctx, l, handler, o.Drain); err != nil && ctx.Err() == nil {
			fatal(err)
		}
	}()

	return func() { <-ended }, nil
}
