package machine

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/local/supervisor"
)

func downCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "down",
		Short:   "Stop everything that runs for the data folder; runs continue at the next start",
		Example: "  collabui down",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return runDown(a) },
	}
}

func runDown(a *app.App) error {
	if err := a.RequireLocal(); err != nil {
		return err
	}
	stopped, err := supervisor.Stop(a.Data, 30*time.Second)
	if err != nil {
		return err
	}

	return a.Print(map[string]any{"stopped": stopped}, func(out io.Writer) {
		if stopped {
			terminal.Line(out, "stopped")
		} else {
			terminal.Line(out, "nothing was running")
		}
	})
}
