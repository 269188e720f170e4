// Package machine has the commands about the services and workers of this machine, and about the program itself.
package machine

import (
	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
)

// Commands returns the commands of this group, in the order of the help.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{upCmd(a), downCmd(a), doctorCmd(a), versionCmd(a)}
}

// Plumbing returns the commands that other programs start, such as the supervisor of a data folder.
func Plumbing(a *app.App) []*cobra.Command { return []*cobra.Command{workerCmd(a)} }
