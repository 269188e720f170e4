// Package run has the commands that start runs, watch them, and change them while they are under way.
package run

import (
	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
)

// Commands returns the commands of this group, in the order of the help.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{
		trainCmd(a), planCmd(a), watchCmd(a),
		pauseCmd(a), resumeCmd(a), stopCmd(a), setCmd(a), noteCmd(a), forkCmd(a),
	}
}
