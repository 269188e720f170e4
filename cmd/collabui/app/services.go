package app

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/local/supervisor"
)

// MaxTabs bounds the concurrent episodes of a worker on this machine.
const MaxTabs = 64

// StartServices starts a supervisor in the background if none runs, and waits until it is ready. On a cluster it starts
// nothing.
func (a *App) StartServices(ctx context.Context, options ServiceOptions) error {
	endpoints, err := config.FromEnv()
	if err != nil {
		return err
	}
	if a.Cluster {
		return endpoints.Complete()
	}
	if options.Tabs < 1 || options.Tabs > MaxTabs {
		return fault.New(fault.Invalid, "--tabs must be from 1 to %d, not %d", MaxTabs, options.Tabs)
	}

	st, alive := supervisor.Read(a.Data)
	switch {
	case alive && st.Ready:
		return a.checkAgreement(st, endpoints, options.Tabs)
	case alive:
		return a.awaitUp(ctx, nil)
	}
	if supervisor.IsNew(a.Data) { // perhaps a mistyped --data
		folder, err := filepath.Abs(a.Data)
		if err != nil {
			return fault.New(fault.Invalid, "data folder %q: %w", a.Data, err)
		}
		terminal.Line(a.Err, "new data folder %s, with services and runs of its own", folder)
	}
	ended, err := a.startSupervisor(endpoints, options.Tabs)
	if err != nil {
		return err
	}

	return a.awaitUp(ctx, ended)
}

// startSupervisor starts `up --foreground` in a new session, so that it survives this terminal. The channel is closed
// when the supervisor ends.
func (a *App) startSupervisor(endpoints config.Endpoints, tabs int) (<-chan struct{}, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fault.As(fault.Fatal, err)
	}
	if err := supervisor.MakeFolder(a.Data); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(a.supervisorLog(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	defer func() { _ = log.Close() }()

	cmd := exec.Command(self, "up", "--foreground", "--data", a.Data, "--tabs", fmt.Sprint(tabs))
	cmd.Env = append(os.Environ(), endpoints.Environ()...)
	cmd.Stdout = log
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fault.New(fault.Invalid, "start the supervisor: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()

	return ended, nil
}

func (a *App) supervisorLog() string { return supervisor.LogPath(a.Data, "supervisor") }

// checkAgreement returns an error if addresses or numbers differ from the running supervisor's, because they would be
// ignored.
func (a *App) checkAgreement(st supervisor.State, endpoints config.Endpoints, tabs int) error {
	asked := map[supervisor.Name]string{
		supervisor.Temporal: endpoints.Temporal,
		supervisor.S3:       endpoints.StoreURL(),
		supervisor.Redis:    endpoints.Redis,
		supervisor.Policy:   endpoints.Policy,
		supervisor.Viewer:   endpoints.View,
	}
	for _, name := range supervisor.Addressed {
		addr := st.Services[name].Addr
		given := config.Redacted(asked[name])
		if given != "" && addr != given {
			return fault.New(fault.Invalid, "%s runs at %s for %s, not at %s: stop it first with %s",
				name, addr, a.Data, given, a.Typed("down"))
		}
	}
	if st.Tabs != tabs && tabs != defaultTabs {
		return fault.New(fault.Invalid, "the worker for %s runs with --tabs %d, not %d: stop it first with %s",
			a.Data, st.Tabs, tabs, a.Typed("down"))
	}

	return nil
}

// awaitUp waits until the supervisor of the data folder is ready, or the started one has ended.
func (a *App) awaitUp(ctx context.Context, ended <-chan struct{}) error {
	const limit = 2 * time.Minute
	for end := time.Now().Add(limit); time.Now().Before(end); {
		if st, alive := supervisor.Read(a.Data); alive && st.Ready {
			return nil
		}
		select {
		case <-ended:
			st, alive := supervisor.Read(a.Data)
			if alive { // another client's supervisor was faster
				ended = nil
				continue
			}
			why := st.Problem
			if why == "" {
				why = "see " + a.supervisorLog()
			}

			return fault.New(fault.Invalid, "the supervisor did not start: %s", why)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}

	return fault.New(fault.Transient, "the supervisor is not ready after %v; see %s", limit, a.supervisorLog())
}

// defaultTabs is the number of concurrent episodes on a small machine.
const defaultTabs = 3

// ServiceOptions are the flags of commands that start the local services. Addresses of services that run elsewhere
// are in the environment.
type ServiceOptions struct {
	Tabs int
}

// AddFlags adds the flags.
func (o *ServiceOptions) AddFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.Tabs, "tabs", defaultTabs, "concurrent episodes")
}
