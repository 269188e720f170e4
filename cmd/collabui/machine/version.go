package machine

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
)

func versionCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of the program and of what its results depend on",
		Example: "  collabui version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.Print(a.Build, func(out io.Writer) { printBuild(out, a.Build) })
		},
	}
}

// printBuild prints what the program was built from.
func printBuild(out io.Writer, build app.Build) {
	commit := build.Commit
	switch {
	case commit == "":
		commit = "unknown"
	case build.Modified:
		commit += " with uncommitted changes"
	}
	terminal.Line(out, "collabui %s", build.Version)
	terminal.Line(out, "  commit         %s", commit)
	terminal.Line(out, "  Go             %s", build.Go)
	terminal.Line(out, "  policy kernel  %s", build.Kernel)
	terminal.Line(out, "  Temporal SDK   %s", build.Temporal)
	terminal.Line(out, "  record format  %d", build.Records)
}
