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
	"github.com/collabui/collabui/internal/process/events"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workflows"
)

func watchCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "watch RUN",
		Short:   "Show a run until it ends; ctrl-C detaches",
		Example: "  collabui watch quickstart --json",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return runWatch(c.Context(), a, args[0]) },
	}
}

func runWatch(ctx context.Context, a *app.App, run string) error {
	b, e, err := a.OpenStore()
	if err != nil {
		return err
	}
	if _, err := runs.Run(run).Find(ctx, b); err != nil {
		return err
	}
	if ended, err := runs.Run(run).End().Exists(ctx, b); err == nil && ended {
		return status.Show(ctx, a, b, e, run)
	}
	s, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()

	return watch(ctx, s, workflows.RunInput{Name: run})
}

// watch shows changes until the run ends (or its stage 1, if no more was requested) or ctx is done.
func watch(ctx context.Context, s *app.Session, in workflows.RunInput) error {
	run := in.Name
	p := status.NewProgress(s.App, run)
	of, err := runs.Run(run).Current(ctx, s.Store)
	if err != nil {
		return err
	}
	client, err := s.Endpoints.OpenRedis()
	if err != nil {
		return err
	}
	stream := &eventReader{stream: events.Over(client), after: "0"}
	if page := status.RunPage(s.Endpoints, run); !s.JSON && page != "" {
		p.Line("run %s · see every episode: %s", run, page)
	}
	if !s.JSON && s.Endpoints.UI != "" {
		p.Line("run %s · Temporal UI: %s/workflows/%[1]s", run, status.TemporalPages(s.Endpoints))
	}

	var wrong status.Problems
	for ctx.Err() == nil {
		done, err := poll(ctx, s, p, stream)
		if !done && err == nil {
			wrong.Report(ctx, p.Bar, s.Temporal, s.Endpoints, of)
			// A run that was started without --until continues. If the store does not respond, it is read again.
			tuned, asked := runs.Run(run).Base().Exists(ctx, s.Store)
			done = in.FineTune && asked == nil && tuned
		}
		if ctx.Err() != nil {
			break
		}
		if done {
			p.Clear()
			if err != nil {
				return err
			}
			if in.FineTune {
				return status.ShowStage1(ctx, s.App, s.Store, run)
			}

			return status.Show(ctx, s.App, s.Store, s.Endpoints, run)
		}
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
	p.Clear()
	if err := s.LostServices(ctx); err != nil {
		return err
	}
	printDetached(s, run)

	return nil
}

func printDetached(s *app.Session, run string) {
	if s.JSON {
		return
	}
	terminal.Line(s.Out, "detached; run %s continues. Come back with %s, stop it with %s, stop everything with %s.",
		run, s.Typed("watch %s", run), s.Typed("stop %s", run), s.Typed("down"))
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

// poll looks for changes once. It shows the errors of services and waits: the run continues without its viewer.
func poll(all context.Context, s *app.Session, p *status.Progress, stream *eventReader) (done bool, err error) {
	ctx, cancel := context.WithTimeout(all, 5*time.Second)
	defer cancel()
	for _, raw := range stream.read(ctx, p.Run) {
		p.ShowEvent(raw)
	}

	d, err := s.Temporal.DescribeWorkflowExecution(ctx, p.Run, "")
	if all.Err() != nil { // the user pressed ctrl-C
		return false, nil
	}
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return true, fault.New(fault.Transient,
			"Temporal does not know run %s: its data was deleted, or the run never started; "+
				"%s with its specification continues from the store", p.Run, s.Typed("train"))
	}
	if err != nil {
		p.Show("waiting for Temporal (%v)", shorten(err))
		return false, nil
	}

	switch d.WorkflowExecutionInfo.Status {
	case enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return true, nil
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		p.ShowRun(ctx, s.Temporal)
		return false, nil
	default:
		return true, app.EndError(s.Temporal.GetWorkflow(ctx, p.Run, "").Get(ctx, nil))
	}
}

// shorten returns an error in a form that fits a line of a terminal.
func shorten(err error) string { return agents.Line(health.OneLine(err), 80) }
