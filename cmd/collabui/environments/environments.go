// Package environments has the commands about environments: list, check, serve and add them.
package environments

import (
	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
)

// Commands returns the commands of this group, in the order of the help.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{envsCmd(a)}
}
