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
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workflows"
)

func pauseCmd(a *app.App) *cobra.Command {
	return controlCmd(a, workflows.UpdatePause, "Pause a run: what runs ends, and nothing new begins")
}

func stopCmd(a *app.App) *cobra.Command {
	c := controlCmd(a, workflows.UpdateStop, "Stop a run; train continues it later")
	c.Long = `stop ends a run now, which loses nothing: what is half done is continued by train. With --after it waits
for the episodes that are open, or for the current epoch, evaluation or stage 1.`
	c.Example += "\n  collabui stop quickstart --after epoch"
	c.Flags().String("after", "", "`WHAT` to wait for: episodes or epoch")

	return c
}

// controlCmd returns a command that sends an update of its name to the workflow of a run.
func controlCmd(a *app.App, verb, short string) *cobra.Command {
	var why string
	c := &cobra.Command{
		Use:     verb + " RUN",
		Short:   short,
		Example: "  collabui " + verb + " quickstart --why 'need the machine'",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			asked := workflows.Command{Who: app.UserName(), Why: why}
			if f := c.Flags().Lookup("after"); f != nil {
				asked.After = workflows.After(f.Value.String())
			}
			s, err := a.Connect(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()

			return control(c.Context(), s, verb, args[0], asked)
		},
	}
	app.AddWhy(c, &why)

	return c
}

// control sends an update to the workflow of a run, and prints what the run does then.
func control(ctx context.Context, s *app.Session, verb, run string, asked workflows.Command) error {
	var reached workflows.Status
	err := s.Update(ctx, verb, run, asked, &reached)
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		if ended, _ := runs.Run(run).End().Exists(ctx, s.Store); ended {
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
		waits = status.ReadPending(ctx, s.Temporal, run)
	}
	out := struct {
		workflows.Status
		Running map[string]int `json:"running,omitempty"` // of a paused run: activities that continue to their end
	}{reached, waits.Running}

	return s.Print(out, func(w io.Writer) {
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
