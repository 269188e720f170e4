package workers

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/collabui/collabui/internal/policy/gateway"
	"github.com/collabui/collabui/internal/policy/serving"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer/external"
)

// Serve is what the role serve needs.
type Serve struct {
	Listen   string // HOST:PORT of the gateway
	Server   string // URL of the server beside it, without /v1
	Engine   string // vllm | sglang
	Key      string // that the server wants; "": none
	Model    string // folder of the base model that the server serves; "": its identity is not checked
	Base     string // the server's name for it; "": the first that it lists
	Adapters string // folder that the server reads, too; "": in the working folder
	Keep     int    // adapters at once
}

// gateway serves until the context ends; end waits until what was under way is answered. A listener that breaks ends
// the worker.
func startGateway(ctx context.Context, o Options, fatal func(error)) (end func(), err error) {
	b, err := store.Open(o.Endpoints.Store)
	if err != nil {
		return nil, err
	}
	g := gateway.Options{Bucket: b, Engine: o.Serve.Engine, Server: o.Serve.Server, Key: o.Serve.Key, ClientKey: o.Endpoints.PolicyKey, Base: o.Serve.Base, Adapters: o.Serve.Adapters, Keep: o.Serve.Keep,
		Log: func(format string, args ...any) { o.Log.Warn(fmt.Sprintf(format, args...)) }}
	if g.Adapters == "" {
		g.Adapters = filepath.Join(o.Training.Work, "adapters")
	}
	if o.Serve.Model != "" {
		m, err := external.ModelOf(o.Serve.Model)
		if err != nil {
			return nil, err
		}
		g.Model = &m
	}
	handler, err := gateway.New(g)
	if err != nil {
		return nil, err
	}
	l, err := serving.Listen(o.Serve.Listen, o.Endpoints.PolicyKey, config.EnvPolicyKey)
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
