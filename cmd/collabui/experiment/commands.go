// Package experiment has the command that plays experiments: arms over seeds, and tests of their contrasts.
package experiment

import (
	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
)

// Commands returns the commands of this group, in the order of the help.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{experimentCmd(a)}
}
