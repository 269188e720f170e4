// Package results has the commands that show what runs have made, take it out of the store and bring data in.
package results

import (
	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
)

// Commands returns the commands of this group, in the order of the help.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{
		runsCmd(a), showCmd(a), viewCmd(a), reportCmd(a), evalCmd(a), exportCmd(a), importCmd(a),
	}
}
