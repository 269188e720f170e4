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
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/environments"
	"github.com/collabui/collabui/cmd/collabui/experiment"
	"github.com/collabui/collabui/cmd/collabui/operate"
	"github.com/collabui/collabui/cmd/collabui/results"
	"github.com/collabui/collabui/cmd/collabui/run"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/telemetry"
)

// released is the version of a release. scripts/release.sh sets it when it builds a release.
var released string

// commands returns all commands of the program.
func commands(a *app.App) []*cobra.Command {
	return slices.Concat(run.Commands(a), results.Commands(a), operate.Commands(a), environments.Commands(a), experiment.Commands(a), []*cobra.Command{
		doctorCmd(a), upCmd(a), downCmd(a), workerCmd(a), versionCmd(a),
	})
}

func main() {
	code := execute(os.Args[1:], os.Stdout, os.Stderr)
	telemetry.Flush()
	os.Exit(code)
}

// execute runs one command line and returns its exit code.
func execute(args []string, out, errw io.Writer) int {
	a := &app.App{Out: out, Err: errw, Build: app.ReadBuild(released)}
	root := &cobra.Command{
		Use:           "collabui",
		Short:         "Train collaborating UI agents as durable workflows",
		Long:          "collabui trains collaborating UI agents as Temporal workflows.\n\n" + app.ExitHelp,
		Version:       a.Build.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	a.AddFlags(root.PersistentFlags())
	for _, c := range commands(a) {
		c.Long = app.LongHelp(c)
		root.AddCommand(c)
	}
	began := false
	onStart(root, func() { began = true })
	root.SetOut(out)
	root.SetErr(errw)
	root.SetArgs(args)

	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	ctx, detach := a.GuardedContext(ctx)
	defer detach()
	err := root.ExecuteContext(ctx)
	if gone := a.LostServices(ctx); err != nil && gone != nil {
		err = gone
	}
	if err == nil || errors.Is(err, app.ErrDetached) {
		return app.ExitOK
	}
	if !began { // only the command line was read
		err = fault.As(fault.Invalid, err)
	}
	code := app.ExitCode(err)
	if a.JSON {
		_ = json.NewEncoder(errw).Encode(map[string]any{"error": err.Error(), "exit_code": code})
	} else {
		terminal.Line(errw, "collabui: %v", err)
	}

	return code
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
