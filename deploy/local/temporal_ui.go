package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/route"
	"github.com/temporalio/ui-server/v2/ui"
)

// webUI serves Temporal's Web UI.
type webUI struct {
	addr   string
	viewer string // the base URL of the viewer, whose pages link to these
	config *uiconfig.Config
	server *http.Server
}

func newWebUI(temporalAddr, addr, namespace, codec, viewer string) (*webUI, error) {
	tcp, err := parseAddress("ui-addr", addr)
	if err != nil {
		return nil, err
	}

	return &webUI{addr: addr, viewer: viewer, config: &uiconfig.Config{
		TemporalGRPCAddress: temporalAddr,
		Host:                tcp.IP.String(),
		Port:                tcp.Port,
		EnableUI:            true,
		DefaultNamespace:    namespace,
		DisableNewsFetch:    true,
		HideLogs:            true,
		Codec:               uiconfig.Codec{Endpoint: codec, IncludeCredentials: codec != ""},
	}}, nil
}

// start serves the Web UI as its own server would, but behind a guard: its own server answers every host, so a page
// that rebinds its name to the loopback could terminate workflows.
func (u *webUI) start(ctx context.Context, fail func(error)) error {
	handler, err := u.handler()
	if err != nil {
		return fmt.Errorf("build the Web UI: %w", err)
	}
	listener, err := net.Listen("tcp", u.addr)
	if err != nil {
		return err
	}

	u.server = &http.Server{Handler: guard(handler, u.viewer), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := u.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			fail(fmt.Errorf("the Web UI: %w", err))
		}
	}()

	return until(ctx, "the Web UI answers", func(ctx context.Context) error {
		return getOK(ctx, "http://"+u.addr+"/healthz")
	})
}

func (u *webUI) handler() (http.Handler, error) {
	provider, err := uiconfig.NewConfigProviderWithRefresh(u.config)
	if err != nil {
		return nil, err
	}
	all, err := ui.Assets()
	if err != nil {
		return nil, err
	}
	assets, err := fs.Sub(all, "local")
	if err == nil {
		assets, err = withViews(assets, u.config.DefaultNamespace)
	}
	if err != nil {
		return nil, err
	}

	e := echo.New()
	e.Use(middleware.Recover(), middleware.Gzip(), middleware.Secure())
	route.SetHealthRoute(e)
	if err := route.SetAPIRoutes(e, provider, nil); err != nil {
		return nil, err
	}
	route.SetAuthRoutes(e, provider)
	route.SetUIRoutes(e, "", assets, provider)
	route.SetRenderRoute(e, "/")

	return e, nil
}

func (u *webUI) stop() {
	if u.server != nil {
		_ = u.server.Close()
	}
}

// guard refuses requests for another host than the loopback. It also refuses requests from pages of other sites and of
// other services of this machine, if they change something, come from a script, or load a frame. It lets through links
// from other sites, and from the viewer.
func guard(handler http.Handler, viewer string) http.Handler {
	handler = http.NewCrossOriginProtection().Handler(handler)

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "this server answers only as localhost", http.StatusMisdirectedRequest)

			return
		}
		if o := r.Header.Get("Origin"); o != "" && o != "http://"+r.Host || foreign(r, viewer) {
			http.Error(w, "this server answers no page of another site: to open the page, type its address",
				http.StatusForbidden)

			return
		}
		handler.ServeHTTP(w, r)
	})
}

// foreign reports whether a browser sent the request for a page of another origin, unless a person follows a link.
func foreign(r *http.Request, viewer string) bool {
	followed := r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document"
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site":
		return !followed || strings.HasPrefix(r.URL.Path, "/api/")
	case "same-site":
		return !followed || viewer == "" || !strings.HasPrefix(r.Referer(), strings.TrimSuffix(viewer, "/")+"/")
	}

	return false
}
