package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/log"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/policy/serving"
	"github.com/collabui/collabui/internal/policy/tinyserver"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/process/supervisor"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers"
)

// defaultTabs is the number of episodes at once on a small machine.
const defaultTabs = 3

// externals are flags that replace local services by addresses, each alone.
func externals(c *cobra.Command) func() (config.Endpoints, error) {
	temporal := c.Flags().String("temporal", "", "use the Temporal server at `HOST:PORT` instead of a local one")
	s3 := c.Flags().String("s3", "", "use the S3 server at `URL` instead of a local one; keys from "+config.EnvAccess+" and "+config.EnvSecret)
	redis := c.Flags().String("redis", "", "use the Redis server at `URL` instead of a local one")
	policy := c.Flags().String("policy", "", "use the policy servers at `URL,URL…` (each up to /v1) instead of a local one")
	return func() (config.Endpoints, error) {
		e, err := config.FromEnv()
		for _, x := range []struct{ flag, to *string }{{temporal, &e.Temporal}, {redis, &e.Redis}, {policy, &e.Policy}} {
			if *x.flag != "" {
				*x.to = *x.flag
			}
		}
		if *s3 != "" {
			e.SetStore(*s3)
		}
		return e, err
	}
}

func upCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "up", Short: "Start the local services, the policy server and a worker", Example: "  collabui up --data /tmp/other", Args: cobra.NoArgs}
	foreground := c.Flags().Bool("foreground", false, "stay attached until ctrl-C")
	tabs := c.Flags().Int("tabs", defaultTabs, "episodes at once")
	ext := externals(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		e, err := ext()
		if err = errors.Join(a.local(), err); err != nil {
			return err
		}
		if !*foreground {
			if err := a.ensureUp(c.Context(), e, *tabs); err != nil {
				return err
			}
			return a.showServices()
		}
		ctx, cancel := context.WithCancel(c.Context())
		defer cancel()
		s, err := supervisor.Start(ctx, supervisor.Options{Data: a.data, External: e, Tabs: *tabs, Log: func(f string, args ...any) {
			_, _ = fmt.Fprintf(a.err, "%s "+f+"\n", append([]any{time.Now().Format(time.RFC3339)}, args...)...)
		}})
		if err != nil {
			return err
		}
		if err := a.showServices(); err != nil {
			return err
		}
		s.Wait(ctx)
		return nil
	}
	return c
}

func (a *app) showServices() error {
	st, _ := supervisor.Read(a.data)
	return a.print(st, func(w io.Writer) {
		for _, n := range []string{"temporal", "s3", "redis", "policy"} {
			_, _ = fmt.Fprintf(w, "%-9s %s", n, st.Services[n].Addr)
			if p := st.Services[n].Problem; p != "" {
				_, _ = fmt.Fprintf(w, "   down: %s", p)
			}
			_, _ = fmt.Fprintln(w)
		}
		_, _ = fmt.Fprintf(w, "%-9s %s\nlogs      %s\n", "ui", st.UI, filepath.Join(a.data, "logs"))
	})
}

// ensureUp starts a supervisor in the background when none runs, and waits until it is ready. On a cluster it starts nothing.
func (a *app) ensureUp(ctx context.Context, e config.Endpoints, tabs int) error {
	if a.cluster {
		a.given = &e
		return e.Complete()
	}
	if tabs < 1 || tabs > maxTabs {
		return fault.New(fault.Invalid, "--tabs must be from 1 to %d, not %d", maxTabs, tabs)
	}
	if st, alive := supervisor.Read(a.data); alive && st.Ready {
		return a.agrees(st, e, tabs)
	}
	if _, alive := supervisor.Read(a.data); !alive {
		self, err := os.Executable()
		if err != nil {
			return fault.As(fault.Fatal, err)
		}
		if err := os.MkdirAll(filepath.Join(a.data, "logs"), 0o755); err != nil {
			return fault.New(fault.Invalid, "data folder %s: %w", a.data, err)
		}
		log, err := os.OpenFile(supervisor.LogPath(a.data, "supervisor"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return fault.New(fault.Invalid, "%w", err)
		}
		defer func() { _ = log.Close() }()
		cmd := exec.Command(self, "up", "--foreground", "--data", a.data, "--tabs", fmt.Sprint(tabs))
		cmd.Env = append(os.Environ(), e.Environ()...)
		cmd.Stdout, cmd.Stderr = log, log
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it must survive this terminal
		if err := cmd.Start(); err != nil {
			return fault.New(fault.Invalid, "start the supervisor: %w", err)
		}
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		return a.awaitUp(ctx, ended)
	}
	return a.awaitUp(ctx, nil)
}

// maxTabs bounds the episodes at once of one worker on this machine.
const maxTabs = 64

// agrees refuses addresses and numbers that what runs already does not have: they would be ignored.
func (a *app) agrees(st supervisor.State, e config.Endpoints, tabs int) error {
	for _, x := range []struct{ name, asked string }{{"temporal", e.Temporal}, {"s3", e.StoreURL()}, {"redis", e.Redis}, {"policy", e.Policy}} {
		if have := st.Services[x.name]; x.asked != "" && have.Addr != config.Redacted(x.asked) {
			return fault.New(fault.Invalid, "%s runs at %s for %s, not at %s: end it first with %s", x.name, have.Addr, a.data, config.Redacted(x.asked), a.typed("down"))
		}
	}
	if st.Tabs != tabs && tabs != defaultTabs {
		return fault.New(fault.Invalid, "the worker for %s runs with --tabs %d, not %d: end it first with %s", a.data, st.Tabs, tabs, a.typed("down"))
	}
	return nil
}

func (a *app) awaitUp(ctx context.Context, ended <-chan struct{}) error {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		if st, alive := supervisor.Read(a.data); alive && st.Ready {
			return nil
		}
		select {
		case <-ended:
			st, alive := supervisor.Read(a.data)
			if alive { // another client's supervisor was faster
				ended = nil
				continue
			}
			why := st.Problem
			if why == "" {
				why = "see " + supervisor.LogPath(a.data, "supervisor")
			}
			return fault.New(fault.Invalid, "the supervisor did not start: %s", why)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return fault.New(fault.Transient, "the supervisor is not ready after two minutes; see %s", supervisor.LogPath(a.data, "supervisor"))
}

func downCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "down", Short: "Stop everything that runs for the data folder; runs go on at the next start", Example: "  collabui down", Args: cobra.NoArgs}
	purge := c.Flags().Bool("purge", false, "also delete the data folder: all runs, policies and logs")
	c.RunE = func(*cobra.Command, []string) error {
		if err := a.local(); err != nil {
			return err
		}
		if *purge && !supervisor.Owns(a.data) {
			return fault.New(fault.Invalid, "%s is no data folder of collabui: nothing is deleted", a.data)
		}
		was, err := supervisor.Stop(a.data, 30*time.Second)
		if err != nil {
			return err
		}
		if *purge {
			if err := os.RemoveAll(a.data); err != nil {
				return fault.New(fault.Invalid, "purge: %w", err)
			}
		}
		return a.print(map[string]any{"stopped": was, "purged": *purge}, func(w io.Writer) {
			if was {
				_, _ = fmt.Fprintln(w, "stopped")
			} else {
				_, _ = fmt.Fprintln(w, "nothing was running")
			}
		})
	}
	return c
}

// lifetime ends with a signal, or with the supervisor when its pipe closes.
func lifetime(ctx context.Context, parentPipe bool) context.Context {
	if !parentPipe {
		return ctx
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
		time.Sleep(10 * time.Second) // a graceful end has its limit
		os.Exit(exitService)
	}()
	return ctx
}

// workerEndpoints are from the environment where it is complete: a supervisor gives them so. A gateway alone needs the store only.
func (a *app) workerEndpoints(roles []string) (config.Endpoints, error) {
	e, err := config.FromEnv()
	if err != nil || e.Complete() == nil || e.Store.Endpoint != "" && len(roles) == 1 && roles[0] == workers.RoleServe {
		return e, err
	}
	if local, err := supervisor.Endpoints(a.data); err == nil && !a.cluster {
		return local, nil
	}
	return e, e.Complete()
}

func policyServerCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "policy-server", Short: "Serve small policies behind the OpenAI chat API", Long: "policy-server loads policies of the store as they are asked for. Clients must send the key in " + config.EnvPolicyKey + ", where that is set; without one it listens on this machine only.", Example: "  collabui policy-server --addr 127.0.0.1:8000", Args: cobra.NoArgs}
	addr := c.Flags().String("addr", "127.0.0.1:8000", "listen on `HOST:PORT`")
	pipe := c.Flags().Bool("parent-pipe", false, "end when standard input closes")
	calls := c.Flags().String("call-log", os.Getenv("COLLABUI_CALL_LOG"), "append one line per answered request to `FILE`: time, seed, model")
	c.RunE = func(c *cobra.Command, _ []string) error {
		e, err := a.workerEndpoints(nil)
		if err != nil && e.Store.Endpoint == "" {
			return err
		}
		b, err := store.Open(e.Store)
		if err != nil {
			return err
		}
		l, err := serving.Listen(*addr, e.PolicyKey, config.EnvPolicyKey)
		if err != nil {
			return err
		}
		handler := tinyserver.New(b)
		if *calls != "" {
			f, err := os.OpenFile(*calls, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
			if err != nil {
				return fault.New(fault.Invalid, "call log: %w", err)
			}
			defer func() { _ = f.Close() }()
			handler.CallLog = f
		}
		handler.Key = e.PolicyKey
		return serving.Serve(lifetime(c.Context(), *pipe), l, handler, 5*time.Second)
	}
	return c
}

// quiet logs warnings and errors of the Temporal SDK as lines.
type quiet struct{ w io.Writer }

func (q quiet) line(level, msg string, kv ...any) {
	_, _ = fmt.Fprintf(q.w, "%s %s %s %v\n", time.Now().UTC().Format(time.RFC3339), level, msg, kv)
}
func (q quiet) Debug(string, ...any)        {}
func (q quiet) Info(string, ...any)         {}
func (q quiet) Warn(msg string, kv ...any)  { q.line("WARN", msg, kv...) }
func (q quiet) Error(msg string, kv ...any) { q.line("ERROR", msg, kv...) }

var _ log.Logger = quiet{}
