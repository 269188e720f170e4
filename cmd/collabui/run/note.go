package run

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/records/runs"
)

func noteCmd(a *app.App) *cobra.Command {
	var link string
	cmd := &cobra.Command{
		Use:   "note RUN TEXT",
		Short: "Leave a note about a run, with a link to a page of the viewer",
		Long: `note records what you have to say about a run, with your name and the time, next to what people changed.
show prints it, and the viewer shows it on the page that --link names. It changes nothing.`,
		Example: "  collabui note quickstart 'the critic takes Cancel for Save' --link '#/episode/quickstart/2/17'",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			bucket, _, err := a.OpenStore()
			if err != nil {
				return err
			}
			change := runs.Change{Who: app.UserName(), Why: args[1], At: time.Now().UTC(), Link: link}
			if err := runs.Run(args[0]).Note(cmd.Context(), bucket, change); err != nil {
				return err
			}

			return a.Print(change, func(out io.Writer) { terminal.Line(out, "%s: the note is recorded", args[0]) })
		},
	}
	cmd.Flags().StringVar(&link, "link", "", "`PAGE` of the viewer, what follows the host in its address")

	return cmd
}
