// Command collabui trains collaborating UI agents by durable workflows; `collabui help` lists what it does. One file per command.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/process/supervisor"
	"github.com/collabui/collabui/internal/store"
)

// Exit codes of all commands.
const (
	exitOK       = 0
	exitFatal    = 1
	exitInvalid  = 2 // usage, specification
	exitService  = 3 // a service does not answer: try again
	exitNotFound = 4
	exitCorrupt  = 5 // stored bytes are not what they must be
	exitStopped  = 6 // the run was stopped
	exitFailed   = 7 // a check or a claim failed
)

const exitHelp = `Exit codes: 0 done · 1 internal error · 2 wrong usage or specification · 3 a service does not answer, try again · 4 no such run or object ·
5 corrupt data · 6 the run was stopped · 7 a check failed`

// app is what commands share.
type app struct {
	out, err io.Writer
	data     string
	json     bool
	cluster  bool              // nothing runs here: addresses come from the environment and flags
	given    *config.Endpoints // of a cluster, with what flags say
}

// envCluster is --cluster for all commands.
const envCluster = "COLLABUI_CLUSTER"

// defaultData is the data folder where none is named.
const defaultData = ".collabui"

// errStopped and errFailed give their exit codes.
var (
	errStopped = errors.New("the run was stopped")
	errFailed  = errors.New("a check failed")
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run runs one command line and gives its exit code.
func run(args []string, out, errw io.Writer) int {
	a := &app{out: out, err: errw}
	root := &cobra.Command{Use: "collabui", Short: "Durable training of collaborating UI agents", SilenceUsage: true, SilenceErrors: true, Long: "collabui trains collaborating UI agents by Temporal workflows.\n\n" + exitHelp}
	root.PersistentFlags().StringVar(&a.data, "data", defaultData, "data folder of local services; one supervisor each")
	root.PersistentFlags().BoolVar(&a.cluster, "cluster", os.Getenv(envCluster) == "1", "start nothing here: services and workers run elsewhere, at the addresses in the environment ("+envCluster+"=1)")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "JSON instead of text, one object per line")
	root.SetOut(out)
	root.SetErr(errw)
	root.SetArgs(args)
	for _, c := range []func(*app) *cobra.Command{trainCmd, runsCmd, watchCmd, showCmd, logsCmd, pauseCmd, resumeCmd, stopCmd, evalCmd, reproduceCmd, fsckCmd, envsCmd, upCmd, downCmd,
		workerCmd, policyServerCmd, doctorCmd, setCmd, creditCmd, finetuneCmd, dataCmd, exportCmd, importCmd, inferCmd, planCmd} {
		cmd := c(a)
		cmd.Long = longer(cmd)
		root.AddCommand(cmd)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	code := exitCode(err)
	if a.json {
		_ = json.NewEncoder(errw).Encode(map[string]any{"error": err.Error(), "exit_code": code})
	} else {
		_, _ = fmt.Fprintln(errw, "collabui:", err)
	}
	return code
}

func longer(c *cobra.Command) string {
	s := c.Short + "."
	if c.Long != "" {
		s = c.Long
	}
	return s + "\n\n" + exitHelp
}

// exitCode maps errors once, for all commands.
func exitCode(err error) int {
	switch {
	case errors.Is(err, errStopped):
		return exitStopped
	case errors.Is(err, errFailed):
		return exitFailed
	case errors.Is(err, store.ErrNotFound):
		return exitNotFound
	}
	switch fault.KindOf(err) {
	case fault.Invalid:
		return exitInvalid
	case fault.Corrupt:
		return exitCorrupt
	case fault.Fatal:
		return exitFatal
	case fault.Transient:
		if isUsage(err) {
			return exitInvalid
		}
	}
	return exitService
}

// isUsage recognises cobra's errors, which have no type: they are the only ones here that nothing wraps.
func isUsage(err error) bool {
	return errors.Unwrap(err) == nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// endpoints of the services: of the data folder if its supervisor runs, else from the environment.
func (a *app) endpoints() (config.Endpoints, error) {
	if a.given != nil {
		return *a.given, nil
	}
	if _, alive := supervisor.Read(a.data); alive && !a.cluster {
		return supervisor.Endpoints(a.data)
	}
	e, err := config.FromEnv()
	if err == nil && a.cluster {
		return e, e.Complete()
	}
	if err == nil && e.Store.Endpoint == "" {
		err = fault.New(fault.Transient, "nothing runs for %s: start it with %s, or set %s and the other addresses", a.data, a.typed("up"), config.EnvS3)
	}
	return e, err
}

// local refuses a command that is about services of this machine where there are none.
func (a *app) local() error {
	if a.cluster {
		return fault.New(fault.Invalid, "--cluster (or %s): nothing of it runs here; workers and services are started and stopped on their own hosts", envCluster)
	}
	return nil
}

func (a *app) bucket() (store.Bucket, config.Endpoints, error) {
	e, err := a.endpoints()
	if err != nil {
		return nil, e, err
	}
	b, err := store.Open(e.Store)
	return b, e, err
}

// typed is a command line as this user types it: the program as it was called, and the data folder where it is not the default.
func (a *app) typed(format string, args ...any) string {
	line := os.Args[0] + " " + fmt.Sprintf(format, args...)
	if a.data != defaultData {
		line += " --data " + a.data
	}
	return "`" + line + "`"
}

// print writes v as JSON, or text by f.
func (a *app) print(v any, f func(w io.Writer)) error {
	if a.json {
		return json.NewEncoder(a.out).Encode(v)
	}
	f(a.out)
	return nil
}

// isTerminal tells whether people watch.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
