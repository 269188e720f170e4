// Command collabui trains collaborating UI agents as durable workflows. `collabui help` lists its commands by group.
// Each group is a package below this one, and each command a file in it, with its options, what it runs, and how it
// prints the result.
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

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/environments"
	"github.com/collabui/collabui/cmd/collabui/experiment"
	"github.com/collabui/collabui/cmd/collabui/machine"
	"github.com/collabui/collabui/cmd/collabui/operate"
	"github.com/collabui/collabui/cmd/collabui/results"
	"github.com/collabui/collabui/cmd/collabui/run"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/observe/telemetry"
)

// released is the version of a release. scripts/release.sh sets it when it builds a release.
var released string

// group is a heading of the help with its commands.
type group struct {
	cobra.Group
	commands []*cobra.Command
}

// groups returns all commands of the program in the order of the help.
func groups(a *app.App) []group {
	return []group{
		{cobra.Group{ID: "run", Title: "Runs:"}, run.Commands(a)},
		{cobra.Group{ID: "results", Title: "Results and data:"}, results.Commands(a)},
		{cobra.Group{ID: "operate", Title: "Accepted systems and the store:"}, operate.Commands(a)},
		{cobra.Group{ID: "environments", Title: "Environments:"}, environments.Commands(a)},
		{cobra.Group{ID: "experiment", Title: "Experiments:"}, experiment.Commands(a)},
		{cobra.Group{ID: "machine", Title: "This machine:"}, machine.Commands(a)},
		{cobra.Group{ID: plumbing, Title: "Plumbing:"}, machine.Plumbing(a)},
	}
}

// plumbing is the ID of the group with commands that people rarely type.
const plumbing = "plumbing"

func main() {
	code := execute(os.Args[1:], os.Stdout, os.Stderr)
	telemetry.Flush()
	os.Exit(code)
}

// newRoot returns the program's command with all others below it.
func newRoot(a *app.App) *cobra.Command {
	cobra.EnableCommandSorting = false // groups have an order of their own
	root := &cobra.Command{
		Use:           "collabui",
		Short:         "Train collaborating UI agents as durable workflows",
		Long:          "collabui trains collaborating UI agents as Temporal workflows.\n\n" + app.ExitHelp,
		Version:       a.Build.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	a.AddFlags(root.PersistentFlags())
	for _, group := range groups(a) {
		root.AddGroup(&group.Group)
		for _, command := range group.commands {
			command.GroupID = group.ID
			command.Long = app.LongHelp(command)
			root.AddCommand(command)
		}
	}
	root.SetHelpCommandGroupID(plumbing)
	root.SetCompletionCommandGroupID(plumbing)

	return root
}

// execute runs one command line and returns its exit code.
func execute(args []string, out, errw io.Writer) int {
	a := &app.App{Out: out, Err: errw, Build: app.ReadBuild(released)}
	root := newRoot(a)
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
		err = fault.As(fault.Invalid, wrongUsage(a, root, args, err))
	}
	code := app.ExitCode(err)
	text := a.Pasteable(err.Error())
	if a.JSON {
		_ = json.NewEncoder(errw).Encode(map[string]any{"error": text, "exit_code": code})
	} else {
		terminal.Line(errw, "collabui: %s", text)
	}

	return code
}

// wrongUsage adds to an error of the command line how the command is used, if its name is known.
func wrongUsage(a *app.App, root *cobra.Command, args []string, err error) error {
	cmd, _, unknown := root.Find(args)
	if unknown != nil || cmd == root || !cmd.Runnable() {
		return err
	}

	return fmt.Errorf("%w\nusage: %s\n%s explains it", err, cmd.UseLine(), a.TypedHelp(cmd))
}

// onStart calls f when a command, or one below it, begins its work, once its arguments and flags are known to be valid.
// A group of commands begins with its help, and takes no arguments.
func onStart(cmd *cobra.Command, f func()) {
	for _, below := range cmd.Commands() {
		onStart(below, f)
	}
	work := cmd.RunE
	switch {
	case work != nil:
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			f()

			return work(cmd, args)
		}
	case cmd.HasParent() && !cmd.Runnable():
		cmd.Args = cobra.NoArgs
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}
