// Package operate has the commands about what runs leave behind: accepted systems, endpoints and the store.
package operate

import (
	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
)

// Commands returns the commands of this group, in the order of the help.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{
		lineCmd(a), scheduleCmd(a), inferCmd(a), copyCmd(a), deleteCmd(a), gcCmd(a), fsckCmd(a),
	}
}
