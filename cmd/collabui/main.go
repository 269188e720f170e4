// Command collabui trains collaborating UI agents as durable workflows. `collabui help` lists its commands; each is in
// its own file, with its options, what it runs, and how it prints the result.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/observe/telemetry"
	"github.com/collabui/collabui/internal/store"
)

// Exit codes of all commands.
const (
	exitOK       = 0
	exitFatal    = 1
	exitInvalid  = 2 // usage or specification
	exitService  = 3 // a service does not respond; a retry may succeed
	exitNotFound = 4
	exitCorrupt  = 5 // stored bytes are not what they must be
	exitStopped  = 6
	exitFailed   = 7 // a check or a claim failed
)

const exitHelp = `Exit codes: 0 success · 1 internal error · 2 wrong usage or specification · 3 no service answers
4 no such run or object · 5 corrupt data · 6 the run was stopped · 7 a check failed`

// errStopped and errFailed have exit codes of their own.
var (
	errStopped = errors.New("the run was stopped")
	errFailed  = errors.New("a check failed")

	// errDetached ends a command that ctrl-C left; what it started continues. It does not count as a failure.
	errDetached = errors.New("detached")
)

// commands returns all commands of the program.
func commands(a *app) []*cobra.Command {
	return []*cobra.Command{
		trainCmd(a), planCmd(a), runsCmd(a), watchCmd(a), showCmd(a), viewCmd(a), reportCmd(a),
		pauseCmd(a), resumeCmd(a), stopCmd(a), setCmd(a), noteCmd(a),
		forkCmd(a), copyCmd(a), deleteCmd(a), gcCmd(a), fsckCmd(a), doctorCmd(a),
		evalCmd(a), experimentCmd(a), exportCmd(a), importCmd(a), inferCmd(a), lineCmd(a), scheduleCmd(a), envsCmd(a),
		upCmd(a), downCmd(a), workerCmd(a), versionCmd(a),
	}
}

func main() {
	code := run(os.Args[1:], os.Stdout, os.Stderr)
	telemetry.Flush()
	os.Exit(code)
}

// run runs one command line and returns its exit code.
func run(args []string, out, errw io.Writer) int {
	a := &app{out: out, err: errw}
	root := &cobra.Command{
		Use:           "collabui",
		Short:         "Train collaborating UI agents as durable workflows",
		Long:          "collabui trains collaborating UI agents as Temporal workflows.\n\n" + exitHelp,
		Version:       buildVersion().Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	a.addFlags(root.PersistentFlags())
	for _, c := range commands(a) {
		c.Long = longer(c)
		root.AddCommand(c)
	}
	began := false
	onStart(root, func() { began = true })
	root.SetOut(out)
	root.SetErr(errw)
	root.SetArgs(args)

	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	ctx, a.leave = context.WithCancelCause(ctx)
	defer a.leave(nil)
	err := root.ExecuteContext(ctx)
	if gone := a.gone(ctx); err != nil && gone != nil {
		err = gone
	}
	if err == nil || errors.Is(err, errDetached) {
		return exitOK
	}
	if !began { // only the command line was read
		err = fault.As(fault.Invalid, err)
	}
	code := exitCode(err)
	if a.json {
		_ = json.NewEncoder(errw).Encode(map[string]any{"error": err.Error(), "exit_code": code})
	} else {
		say(errw, "collabui: %v", err)
	}

	return code
}

// longer returns the long help of a command, which ends with the exit codes.
func longer(c *cobra.Command) string {
	text := c.Short + "."
	if c.Long != "" {
		text = c.Long
	}

	return text + "\n\n" + exitHelp
}

// exitCode returns the exit code of an error.
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
	case fault.Invalid, fault.Refused:
		return exitInvalid
	case fault.Corrupt:
		return exitCorrupt
	case fault.Fatal:
		return exitFatal
	}

	return exitService
}

// onStart calls f when a command, or one below it, begins its work, once its arguments and flags are known to be valid.
// A group of commands begins with its help, and takes no arguments.
func onStart(c *cobra.Command, f func()) {
	for _, below := range c.Commands() {
		onStart(below, f)
	}
	work := c.RunE
	switch {
	case work != nil:
		c.RunE = func(c *cobra.Command, args []string) error {
			f()

			return work(c, args)
		}
	case c.HasParent() && !c.Runnable():
		c.Args = cobra.NoArgs
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
}
