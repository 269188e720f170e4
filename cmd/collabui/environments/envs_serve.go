package environments

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/netutil"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/httpd"
)

// serveOptions are the flags of envs serve.
type serveOptions struct {
	env  app.EnvironmentOptions
	addr string
	tls  httpd.TLS
}

func envsServeCmd(a *app.App) *cobra.Command {
	var options serveOptions
	cmd := &cobra.Command{
		Use:     "serve NAME",
		Short:   "Serve an environment over the OpenEnv protocol (docs/openenv-profile.md)",
		Example: "  collabui envs serve webtasks",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runEnvsServe(cmd.Context(), a, options,
				args[0])
		},
	}
	options.env.AddFlags(cmd.Flags())
	app.AddTLSFlags(cmd.Flags(), &options.tls)
	cmd.Flags().StringVar(&options.addr, "addr", "127.0.0.1:0",
		"listen on `HOST:PORT`; port 0 picks one, and another machine needs a key in "+openenv.EnvKey)

	return cmd
}

func runEnvsServe(ctx context.Context, a *app.App, options serveOptions, name string) error {
	suite, err := options.env.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = suite.Close() }()
	handler, err := openenv.Handler(suite)
	if err != nil {
		return err
	}
	key, err := openenv.Key()
	if err != nil {
		return err
	}
	listener, err := httpd.Listen(options.addr, key, openenv.EnvKey, options.tls)
	if err != nil {
		return err
	}

	url := httpd.URL(listener, "ws") + "/ws"
	shown := map[string]any{"name": suite.Name(), "title": suite.Title(), "address": url}
	err = a.Print(shown, func(out io.Writer) {
		terminal.Line(out, "%s at %s (%d concurrent sessions); check it with: %s",
			suite.Title(), url, options.env.AtOnce(), a.Typed("envs check %s", url))
	})
	if err != nil {
		return err
	}

	return usualBounds.serve(ctx, listener, requireKey(handler, config.Live(openenv.EnvKey, key)))
}

// requireKey rejects requests without one of the keys, except requests for /health.
func requireKey(handler http.Handler, keys func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" && !httpd.Allowed(r, keys) {
			http.Error(w, "the key in "+openenv.EnvKey+" is missing or wrong", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// bounds limits the resources that clients can hold.
type bounds struct {
	connections int           // at the same time; further ones wait until one ends
	idle        time.Duration // time after which a connection without a session is closed
}

// usualBounds leave room for the clients of thousands of workers.
var usualBounds = bounds{connections: 1 << 14, idle: 2 * time.Minute}

// serve serves until ctx ends. Open sessions end then: their episodes are void, and are played again.
func (b bounds) serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler:           httpd.Guarded(listener, handler),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       time.Minute, // of a request that does not become a session
		IdleTimeout:       b.idle,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(netutil.LimitListener(listener, b.connections)); !errors.Is(err, http.ErrServerClosed) {
		return fault.New(fault.Transient, "serve: %w", err)
	}

	return nil
}
