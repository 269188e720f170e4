package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/temporal"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// temporalService is a Temporal server, all of its services in one process, on
// the SQLite file DIR/temporal.db, with the Web UI next to it.
type temporalService struct {
	addr      *net.TCPAddr
	uiAddr    string
	codec     string
	viewer    string
	file      string
	namespace string

	level  zap.AtomicLevel
	server temporal.Server
	ui     *webUI
}

func (s *temporalService) flags(fs *flag.FlagSet, o *options) {
	o.dirFlag(fs)
	fs.StringVar(&s.uiAddr, "ui-addr", "", "serve the Web UI on `IP:PORT`; empty: no Web UI")
	fs.StringVar(&s.codec, "codec", "", "let the Web UI decrypt payloads by the codec server at `URL`; empty: none")
	fs.StringVar(&s.viewer, "viewer", "", "let the pages at `URL` link to the Web UI; empty: none of this machine may")
	fs.StringVar(&s.namespace, "namespace", "collabui", "create namespace `NAME` if it is missing")
}

func (s *temporalService) prepare(o options) (addresses []string, err error) {
	if s.addr, err = parseAddress("addr", o.addr); err != nil {
		return nil, err
	}

	if err := o.needDir(); err != nil {
		return nil, err
	}

	s.file = filepath.Join(o.dir, "temporal.db")
	s.level = zap.NewAtomicLevelAt(zap.WarnLevel)
	if s.uiAddr == "" {
		return []string{o.addr}, nil
	}

	s.ui, err = newWebUI(o.addr, s.uiAddr, s.namespace, s.codec, s.viewer)

	return []string{o.addr, s.uiAddr}, err
}

func (s *temporalService) start(ctx context.Context, fail func(error)) error {
	if err := ensureSchema(ctx, s.file); err != nil {
		return err
	}

	if err := createNamespace(s.file, s.namespace); err != nil {
		return dataProblem("cannot create namespace "+s.namespace, err)
	}

	conf, err := serverConfig(s.addr, s.file)
	if err != nil {
		return err
	}

	if err := s.startServer(ctx, conf, fail); err != nil {
		return err
	}

	if err := waitNamespace(ctx, s.addr.String(), s.namespace); err != nil {
		return err
	}

	go checkLater(context.WithoutCancel(ctx), s.file, fail)
	if s.ui == nil {
		return nil
	}

	return s.ui.start(ctx, fail)
}

// startServer gives up when ctx ends: a hanging start must not outlive it.
func (s *temporalService) startServer(ctx context.Context, conf *config.Config, fail func(error)) error {
	server, err := temporal.NewServer(
		temporal.WithConfig(conf),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(staticHosts(conf)),
		temporal.WithDynamicConfigClient(dynamicConfig()),
		temporal.WithLogger(s.logger(fail)),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper {
			return authorization.NewNoopClaimMapper()
		}),
	)
	if err != nil {
		return fmt.Errorf("build the Temporal server: %w", err)
	}

	started := make(chan error, 1)
	go func() { started <- server.Start() }()
	select {
	case err := <-started:
		s.server = server
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// logger returns the server's logger. The logger also ends the process when the server logs that its file is damaged,
// because the server itself would retry forever.
func (s *temporalService) logger(fail func(error)) log.Logger {
	base := log.BuildZapLogger(log.Config{Level: "warn"})
	alarm := zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return damageAlarm{core, func(err error) { fail(damagedFile(s.file, err)) }}
	})

	return log.NewZapLogger(base.WithOptions(alarm, zap.IncreaseLevel(s.level), zap.AddStacktrace(zap.FatalLevel)))
}

func (s *temporalService) stop() {
	// The server complains while its own services disappear one after the other.
	s.level.SetLevel(zap.FatalLevel)
	if s.server == nil {
		return // also if it was still starting: the data survives a kill
	}

	if s.ui != nil {
		s.ui.stop()
	}

	if err := s.server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "collabui-local: stop the Temporal server:", err)
	}

	if err := checkpoint(s.file); err != nil {
		fmt.Fprintln(os.Stderr, "collabui-local: move the write-ahead log into the file:", err)
	}
}
