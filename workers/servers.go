package workers

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/policy/gateway"
	"github.com/collabui/collabui/internal/policy/tinyserver"
	"github.com/collabui/collabui/trainer/external"
)

// The roles that have no task queue: they serve HTTP. A worker offers at most one of them.
const (
	RoleServe  = "serve"         // the gateway next to one server of language models
	RolePolicy = "policy-server" // small policies over the chat API of OpenAI
	RoleCodec  = "codec"         // decrypts payloads for the Temporal UI
)

// Servers are the roles that serve HTTP.
var Servers = []string{RoleServe, RolePolicy, RoleCodec}

// Serve contains what the roles that serve HTTP need. A field whose comment names no role is for the role serve.
type Serve struct {
	Listen   string        // HOST:PORT; for all of these roles
	TLS      httpd.TLS     // for all of these roles
	Server   string        // URL of the server next to it, without /v1
	Engine   string        // vllm or sglang
	Key      func() string // the server's API key of the moment; "" or nil: it needs none
	Model    string        // folder of the base model that the server serves; "": its identity is not checked
	Base     string        // the server's name of the base model; "": the first that it lists
	Adapters string        // folder that the server also reads; "": in the working folder
	Keep     int           // adapters that are loaded concurrently
	CallLog  string        // for policy-server: file that gets a line per answered request; "": none
}

// server is a role that serves HTTP.
type server struct {
	handler  http.Handler
	key      string                // that clients send; "": none
	variable string                // the environment variable with the key
	origins  []string              // of other pages that are answered
	run      func(context.Context) // what it does besides; nil: nothing
}

// startServer serves until the context ends. end waits until the requests in flight are answered. A listener that
// breaks ends the worker.
func startServer(ctx context.Context, role string, options Options, fatal func(error)) (end func(), err error) {
	open := map[string]func(Options) (server, error){
		RoleServe: openGateway, RolePolicy: openPolicies, RoleCodec: openCodec,
	}
	s, err := open[role](options)
	if err != nil {
		return nil, err
	}
	listener, err := httpd.Listen(options.Serve.Listen, s.key, s.variable, options.Serve.TLS)
	if err != nil {
		return nil, err
	}
	options.Log.Info("serving", "role", role, "url", httpd.URL(listener, "http"))

	ended := make(chan struct{})
	if s.run != nil {
		go s.run(ctx)
	}
	go func() {
		defer close(ended)
		if err := httpd.Serve(ctx, listener, s.handler, options.Drain, s.origins...); err != nil && ctx.Err() == nil {
			fatal(err)
		}
	}()

	return func() { <-ended }, nil
}

// openGateway returns the gateway next to a server of language models.
func openGateway(options Options) (server, error) {
	b, err := options.Endpoints.OpenStore()
	if err != nil {
		return server{}, err
	}

	s := options.Serve
	g := gateway.Options{
		Bucket: b, Engine: s.Engine, Server: s.Server, Key: s.Key, ClientKey: options.Endpoints.PolicyKeys(),
		Base: s.Base, Adapters: s.Adapters, Keep: s.Keep,
		Log: func(format string, args ...any) { options.Log.Warn(fmt.Sprintf(format, args...)) },
	}
	if g.Adapters == "" {
		g.Adapters = filepath.Join(options.Training.Work, "adapters")
	}
	if s.Model != "" {
		baseModel, err := external.ModelOf(s.Model)
		if err != nil {
			return server{}, err
		}
		g.Model = &baseModel
	}
	handler, err := gateway.New(g)
	if err != nil {
		return server{}, err
	}

	return server{
		handler: handler, key: options.Endpoints.PolicyKey, variable: config.EnvPolicyKey,
		run: func(ctx context.Context) { handler.Run(ctx) },
	}, nil
}

// openPolicies returns the server of small policies, which it loads from the store on demand.
func openPolicies(options Options) (server, error) {
	b, err := options.Endpoints.OpenStore()
	if err != nil {
		return server{}, err
	}
	handler := tinyserver.New(b)
	handler.Keys = options.Endpoints.PolicyKeys()
	if options.Serve.CallLog != "" {
		handler.CallLog, err = os.OpenFile(options.Serve.CallLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return server{}, fault.New(fault.Invalid, "call log: %w", err)
		}
	}

	return server{handler: handler, key: options.Endpoints.PolicyKey, variable: config.EnvPolicyKey}, nil
}
