package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/fault"
)

func envsServeCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "serve NAME", Short: "Offer an environment to others by the OpenEnv protocol (docs/openenv-profile.md)", Example: "  collabui envs serve webtasks --addr 127.0.0.1:8000", Args: cobra.ExactArgs(1)}
	f := &envFlags{}
	f.add(c)
	addr := c.Flags().String("addr", "127.0.0.1:8000", "host:port; there is no authentication, so other hosts should reach it through a network of your own only")
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := f.open(args[0])
		if err != nil {
			return err
		}
		defer func() { _ = s.Close() }()
		h, err := openenv.Handler(s)
		if err != nil {
			return err
		}
		l, err := net.Listen("tcp", *addr)
		if err != nil {
			return fault.New(fault.Invalid, "--addr: %w", err)
		}
		url := "ws://" + l.Addr().String() + "/ws"
		if err := a.print(map[string]any{"name": s.Name(), "title": s.Title(), "address": url}, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "%s at %s (%d sessions at once); check it with: %s\n", s.Title(), url, f.tabs, a.typed("envs check %s", url))
		}); err != nil {
			return err
		}
		srv := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return c.Context() }}
		go func() {
			<-c.Context().Done()
			end, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			_ = srv.Shutdown(end)
		}()
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return fault.New(fault.Transient, "serve: %w", err)
		}
		return nil
	}
	return c
}
