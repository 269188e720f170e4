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
			return a.Print(a.Build, func(w io.Writer) { printBuild(w, a.Build) })
		},
	}
}

// printBuild prints what the program was built from.
func printBuild(w io.Writer, v app.Build) {
	commit := v.Commit
	switch {
	case commit == "":
		commit = "unknown"
	case v.Modified:
		commit += " with uncommitted changes"
	}
	terminal.Line(w, "collabui %s", v.Version)
	terminal.Line(w, "  commit         %s", commit)
	terminal.Line(w, "  Go             %s", v.Go)
	terminal.Line(w, "  policy kernel  %s", v.Kernel)
	terminal.Line(w, "  Temporal SDK   %s", v.Temporal)
	terminal.Line(w, "  record format  %d", v.Records)
}
