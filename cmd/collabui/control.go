package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/user"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workflows"
)

func pauseCmd(a *app) *cobra.Command {
	return controlCmd(a, control{
		verb: "pause", update: workflows.UpdatePause,
		short: "Pause a run: what runs ends, and nothing new begins",
	})
}

func stopCmd(a *app) *cobra.Command {
	c := controlCmd(a, control{
		verb: "stop", update: workflows.UpdateStop, short: "Stop a run; train continues it later",
	})
	c.Long = `stop ends a run now, which loses nothing: what is half done is continued by train. With --after it waits
for the episodes that are open, or for the current epoch, evaluation or stage 1.`
	c.Example += "\n  collabui stop quickstart --after epoch"
	c.Flags().String("after", "", "`WHAT` to wait for: episodes or epoch")

	return c
}

// control is a command that sends an update to the workflow of a run.
type control struct {
	verb   string
	short  string
	update string // name of the update
}

func controlCmd(a *app, x control) *cobra.Command {
	var why string
	c := &cobra.Command{
		Use:     x.verb + " RUN",
		Short:   x.short,
		Example: "  collabui " + x.verb + " quickstart --why 'need the machine'",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			asked := workflows.Command{Who: userName(), Why: why}
			if f := c.Flags().Lookup("after"); f != nil {
				asked.After = workflows.After(f.Value.String())
			}

			return a.runControl(c.Context(), x, args[0], asked)
		},
	}
	addWhy(c, &why)

	return c
}

func addWhy(c *cobra.Command, why *string) {
	c.Flags().StringVar(why, "why", "", "the reason, recorded with the run")
}

func (a *app) runControl(ctx context.Context, x control, run string, asked workflows.Command) error {
	e, err := a.endpoints()
	if err != nil {
		return err
	}
	t, err := dial(ctx, e)
	if err != nil {
		return err
	}
	defer t.Close()

	ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // without a worker, no update is answered
	defer cancel()
	status, err := x.send(ctx, t, run, asked)
	if err != nil {
		ended := false
		if b, _, e := a.bucket(); e == nil {
			ended, _ = runs.Run(run).End().Exists(ctx, b)
		}

		return x.explain(ctx, run, ended, err)
	}

	var waits pending
	if status.Paused {
		waits = readPending(ctx, t, run)
	}
	out := struct {
		workflows.Status
		Running map[string]int `json:"running,omitempty"` // of a run that is paused: activities that go on to their end
	}{status, waits.Running}

	return a.print(out, func(w io.Writer) {
		where := "stage " + status.Stage
		if status.Stage == workflows.StageEpoch {
			where = fmt.Sprintf("in epoch %d of %d", status.Epoch, status.Epochs)
		}
		say(w, "%s: %s, %s", status.Name, stateOf(status), where)
		if status.Paused {
			waits.runningText(w)
		}
	})
}

// send sends the update and waits until the workflow has applied it.
func (x control) send(
	ctx context.Context, t client.Client, run string, asked workflows.Command,
) (workflows.Status, error) {
	var status workflows.Status
	h, err := t.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: run, UpdateName: x.update, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{asked},
	})
	if err != nil {
		return status, err
	}

	return status, h.Get(ctx, &status)
}

// explain classifies an error of Temporal about a run, which may have ended.
func (x control) explain(ctx context.Context, run string, ended bool, err error) error {
	var missing *serviceerror.NotFound
	var down *serviceerror.Unavailable
	switch {
	case errors.As(err, &missing) && ended:
		return fault.New(fault.Invalid, "%s: run %q has ended; `collabui show %[2]s` shows its result", x.verb, run)
	case errors.As(err, &missing):
		return fmt.Errorf("%s: run %q does not run; `collabui runs` lists those that do: %w", x.verb, run,
			store.ErrNotFound)
	case errors.As(err, &down) || ctx.Err() != nil:
		return fault.New(fault.Transient, "%s %s: %w", x.verb, run, err)
	}

	return fault.New(fault.Invalid, "%s %s: %w", x.verb, run, err)
}

// userName returns the name of the user, for records of what people change.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}

	return "unknown"
}
