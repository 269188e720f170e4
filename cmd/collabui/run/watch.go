package run

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/spf13/cobra"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/health"
	"github.com/collabui/collabui/cmd/collabui/status"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/workflows"
)

func watchCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "watch RUN",
		Short:   "Show a run until it ends; ctrl-C detaches",
		Example: "  collabui watch quickstart --json",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runWatch(cmd.Context(), a, args[0]) },
	}
}

func runWatch(ctx context.Context, a *app.App, run string) error {
	bucket, endpoints, err := a.OpenObjects()
	if err != nil {
		return err
	}
	if _, err := runs.Run(run).Find(ctx, bucket); err != nil {
		return err
	}
	if ended, err := runs.Run(run).End().Exists(ctx, bucket); err == nil && ended {
		return status.Show(ctx, a, bucket, endpoints, run)
	}
	session, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()

	return watch(ctx, session, workflows.RunInput{Name: run})
}

// watch shows changes until the run ends (or its stage 1, if no more was requested) or ctx is done.
func watch(ctx context.Context, session *app.Session, in workflows.RunInput) error {
	run := in.Name
	progress := status.NewProgress(session.App, run)
	of, err := runs.Run(run).Current(ctx, session.Store)
	if err != nil {
		return err
	}
	if progress.Since, err = session.Store.Written(ctx, runs.Run(run).Spec().Key); err != nil {
		return err
	}
	client, err := session.Endpoints.OpenRedis()
	if err != nil {
		return err
	}
	stream := &eventReader{stream: events.Over(client), after: "0"}
	if page := status.RunPage(session.Endpoints, run); !session.JSON && page != "" {
		progress.Line("run %s · see every episode: %s", run, page)
	}
	if !session.JSON && session.Endpoints.UI != "" {
		progress.Line("run %s · Temporal UI: %s/workflows/%[1]s", run, status.TemporalPages(session.Endpoints))
	}

	var wrong status.Problems
	for ctx.Err() == nil {
		done, err := poll(ctx, session, progress, stream)
		if !done && err == nil {
			wrong.Report(ctx, progress.Bar, session.Temporal, session.Endpoints, of)
			// A run that was started without --until continues. If the store does not respond, it is read again.
			tuned, asked := runs.Run(run).Base().Exists(ctx, session.Store)
			done = in.FineTune && asked == nil && tuned
		}
		if ctx.Err() != nil {
			break
		}
		if done {
			progress.Clear()
			if err != nil {
				return err
			}
			if in.FineTune {
				return status.ShowStage1(ctx, session.App, session.Store, run)
			}

			return status.Show(ctx, session.App, session.Store, session.Endpoints, run)
		}
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
	progress.Clear()
	if err := session.LostServices(ctx); err != nil {
		return err
	}
	printDetached(session, run)

	return nil
}

func printDetached(session *app.Session, run string) {
	if session.JSON {
		return
	}
	terminal.Line(session.Out,
		"detached; run %s continues. Come back with %s, stop it with %s, stop everything with %s.",
		run, session.Typed("watch %s", run), session.Typed("stop %s", run), session.Typed("down"))
}

// eventReader reads the live events of a run, each once.
type eventReader struct {
	stream *events.Stream
	after  string // position in the stream
}

// read returns the events since the last call.
func (r *eventReader) read(ctx context.Context, run string) []json.RawMessage {
	fresh, next := r.stream.Read(ctx, run, r.after)
	r.after = next

	return fresh
}

// poll looks for changes once. It shows the errors of services and waits: the run continues without anyone who watches.
func poll(
	all context.Context, session *app.Session, progress *status.Progress, stream *eventReader,
) (done bool, err error) {
	ctx, cancel := context.WithTimeout(all, 5*time.Second)
	defer cancel()
	for _, raw := range stream.read(ctx, progress.Run) {
		progress.ShowEvent(raw)
	}

	description, err := session.Temporal.DescribeWorkflow(ctx, progress.Run, "")
	if all.Err() != nil { // the user pressed ctrl-C
		return false, nil
	}
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return true, fault.New(fault.Transient,
			"Temporal does not know run %s: its data was deleted, or the run never started; "+
				"%s with its specification continues from the store", progress.Run, session.Typed("train"))
	}
	if err != nil {
		progress.Show("waiting for Temporal (%v)", shorten(err))
		return false, nil
	}

	switch description.RawResponse.WorkflowExecutionInfo.Status {
	case enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return true, nil
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		progress.ShowRun(ctx, session.Temporal)
		return false, nil
	default:
		return true, app.EndError(session.Temporal.GetWorkflow(ctx, progress.Run, "").Get(ctx, nil))
	}
}

// shorten returns an error in a form that fits a line of a terminal.
func shorten(err error) string { return agents.Line(health.OneLine(err), 80) }
