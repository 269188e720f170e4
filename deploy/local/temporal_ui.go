package main

import (
	"context"

	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
)

// webUI serves Temporal's Web UI.
type webUI struct {
	addr   string
	config *uiconfig.Config
	server *uiserver.Server
}

func newWebUI(temporalAddr, addr, namespace string) (*webUI, error) {
	tcp, err := parseAddress("ui-addr", addr)
	if err != nil {
		return nil, err
	}

	return &webUI{addr: addr, config: &uiconfig.Config{
		TemporalGRPCAddress: temporalAddr,
		Host:                tcp.IP.String(),
		Port:                tcp.Port,
		EnableUI:            true,
		DefaultNamespace:    namespace,
		DisableNewsFetch:    true,
		HideLogs:            true,
		// The page comes over plain HTTP, where a browser drops secure cookies.
		CORS: uiconfig.CORS{CookieInsecure: true},
	}}, nil
}

func (u *webUI) start(ctx context.Context) error {
	u.server = uiserver.NewServer(uioptions.WithConfigProvider(u.config))
	// Start blocks until stop; when it cannot listen it ends the process.
	go func() { _ = u.server.Start() }()
	return until(ctx, "the Web UI answers", func(ctx context.Context) error {
		return getOK(ctx, "http://"+u.addr+"/healthz")
	})
}

func (u *webUI) stop() {
	if u.server != nil {
		u.server.Stop()
	}
}
