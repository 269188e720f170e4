package main

import (
	"io"

	"github.com/spf13/cobra"
)

func versionCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of the program and of what its results depend on",
		Example: "  collabui version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.print(a.build, func(w io.Writer) { printBuild(w, a.build) })
		},
	}
}

// printBuild prints what the program was built from.
func printBuild(w io.Writer, v version) {
	commit := v.Commit
	switch {
	case commit == "":
		commit = "unknown"
	case v.Modified:
		commit += " with uncommitted changes"
	}
	say(w, "collabui %s", v.Version)
	say(w, "  commit         %s", commit)
	say(w, "  Go             %s", v.Go)
	say(w, "  policy kernel  %s", v.Kernel)
	say(w, "  Temporal SDK   %s", v.Temporal)
	say(w, "  record format  %d", v.Records)
}
