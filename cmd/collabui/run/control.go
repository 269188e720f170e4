package run

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/status"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workflows"
)

func pauseCmd(a *app.App) *cobra.Command {
	return controlCmd(a, workflows.UpdatePause, "Pause a run: what runs ends, and nothing new begins")
}

func stopCmd(a *app.App) *cobra.Command {
	cmd := controlCmd(a, workflows.UpdateStop, "Stop a run; train continues it later")
	cmd.Long = `stop ends a run now, which loses nothing: what is half done is continued by train. With --after it waits
for the episodes that are open, or for the current epoch, evaluation or stage 1.`
	cmd.Example += "\n  collabui stop quickstart --after epoch"
	cmd.Flags().String("after", "", "`WHAT` to wait for: episodes or epoch")

	return cmd
}

// controlCmd returns a command that sends an update of its name to the workflow of a run.
func controlCmd(a *app.App, verb, short string) *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:     verb + " RUN",
		Short:   short,
		Example: "  collabui " + verb + " quickstart --why 'need the machine'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			asked := workflows.Command{Who: app.UserName(), Why: why}
			if flag := cmd.Flags().Lookup("after"); flag != nil {
				asked.After = workflows.After(flag.Value.String())
			}
			session, err := a.Connect(cmd.Context())
			if err != nil {
				return err
			}
			defer session.Close()

			return control(cmd.Context(), session, verb, args[0], asked)
		},
	}
	app.AddWhy(cmd, &why)

	return cmd
}

// control sends an update to the workflow of a run, and prints what the run does then.
func control(ctx context.Context, session *app.Session, verb, run string, asked workflows.Command) error {
	var reached workflows.Status
	err := session.Update(ctx, verb, run, asked, &reached)
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		if ended, _ := runs.Run(run).End().Exists(ctx, session.Store); ended {
			return fault.New(fault.Invalid, "%s: run %q has ended; `collabui show %[2]s` shows its result", verb, run)
		}

		return fmt.Errorf("%s: run %q does not run; `collabui runs` lists those that do: %w", verb, run,
			store.ErrNotFound)
	}
	if err != nil {
		return err
	}

	var waits status.Pending
	if reached.Paused {
		waits = status.ReadPending(ctx, session.Temporal, run)
	}
	out := struct {
		workflows.Status
		Running map[string]int `json:"running,omitempty"` // of a paused run: activities that continue to their end
	}{reached, waits.Running}

	return session.Print(out, func(w io.Writer) {
		where := "stage " + reached.Stage
		if reached.Stage == workflows.StageEpoch {
			where = fmt.Sprintf("in epoch %d of %d", reached.Epoch, reached.Epochs)
		}
		terminal.Line(w, "%s: %s, %s", reached.Name, status.StateOf(reached), where)
		if reached.Paused {
			waits.PrintRunning(w)
		}
	})
}
