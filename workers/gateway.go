package workers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/collabui/collabui/internal/fault"
	"github.com/collabui/collabui/internal/serving"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
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

// gateway serves until end is called; a listener that breaks ends the worker.
func gateway(ctx context.Context, o Options, fatal func(error)) (end func(), err error) {
	b, err := store.Open(o.Endpoints.Store)
	if err != nil {
		return nil, err
	}
	g := serving.Options{Bucket: b, Engine: o.Serve.Engine, Server: o.Serve.Server, Key: o.Serve.Key, ClientKey: o.Endpoints.PolicyKey, Base: o.Serve.Base, Adapters: o.Serve.Adapters, Keep: o.Serve.Keep,
		Log: func(format string, args ...any) { o.Logger.Warn(fmt.Sprintf(format, args...)) }}
	if g.Adapters == "" {
		g.Adapters = filepath.Join(o.Training.Work, "adapters")
	}
	if o.Serve.Model != "" {
		digest, err := external.ModelDigest(o.Serve.Model)
		if err != nil {
			return nil, err
		}
		g.Model = &trainer.Model{Name: filepath.Base(o.Serve.Model), Digest: digest}
	}
	handler, err := serving.New(g)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", o.Serve.Listen)
	if err != nil {
		return nil, fault.New(fault.Invalid, "listen on %s: %w (choose another with --listen)", o.Serve.Listen, err)
	}
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go handler.Run(ctx)
	go func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			fatal(err)
		}
	}()
	return func() {
		d, cancel := context.WithTimeout(context.Background(), o.Drain)
		defer cancel()
		_ = srv.Shutdown(d) // answers what is under way
	}, nil
}
