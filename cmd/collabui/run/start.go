package run

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/status"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// goOn starts the workflow of a recorded run, or attaches to it, and shows the run until it ends. If the run has ended,
// goOn only shows it.
func goOn(ctx context.Context, session *app.Session, in workflows.RunInput, detach bool) error {
	run := runs.Run(in.Name)
	if in.FineTune {
		tuned, err := run.Base().Exists(ctx, session.Store)
		if err != nil {
			return err
		}
		if tuned {
			return status.ShowStage1(ctx, session.App, session.Store, in.Name)
		}
	}
	ended, err := run.End().Exists(ctx, session.Store)
	if err != nil {
		return err
	}
	if ended {
		return status.Show(ctx, session.App, session.Store, session.Endpoints, in.Name)
	}
	if err := start(ctx, session, in); err != nil {
		return err
	}
	if detach {
		summary := startSummary{Run: in.Name, Started: true, View: status.RunPage(session.Endpoints, in.Name)}

		return session.Print(summary, func(out io.Writer) { summary.text(out, session.Typed("watch %s", in.Name)) })
	}

	return watch(ctx, session, in)
}

// start starts the workflow of a run. It succeeds if the workflow is already running.
func start(ctx context.Context, session *app.Session, in workflows.RunInput) error {
	if err := workers.CheckNamespace(ctx, session.Temporal, session.Endpoints.Namespace); err != nil {
		return err
	}
	if err := awaitStop(ctx, session, in.Name); err != nil {
		return err
	}
	ctx, err := claim(ctx, session, in.Name)
	if err != nil {
		return err
	}
	_, err = session.Temporal.ExecuteWorkflow(ctx, app.StartOptions(in.Name, "training run "+in.Name), workflows.Run,
		in)
	if err != nil {
		return fault.New(fault.Transient, "start run %s: %w", in.Name, err)
	}

	return nil
}

// awaitStop waits until a run that someone stopped has ended. A start before that would join the ending workflow.
func awaitStop(ctx context.Context, session *app.Session, run string) error {
	asked, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var st workflows.Status
	if !app.Query(asked, session.Temporal, run, workflows.QueryStatus, &st) || !st.Stopping {
		return nil
	}
	_ = session.Temporal.GetWorkflow(ctx, run, "").Get(ctx, nil) // its error only reports the stop

	return context.Cause(ctx)
}

// finish admits a specification, starts its run and shows it until it ends. If the run has ended already, finish
// returns immediately.
func finish(ctx context.Context, session *app.Session, wanted spec.Spec) error {
	if err := wanted.Validate(catalog.All{}); err != nil {
		return err
	}
	if err := admit(ctx, session, wanted, false, "use another data folder"); err != nil {
		return err
	}
	if err := start(ctx, session, workflows.RunInput{Name: wanted.Name}); err != nil {
		return err
	}
	workflowRun := session.Temporal.GetWorkflow(ctx, wanted.Name, "")
	var wrong status.Problems
	err := status.Attend(ctx, session, workflowRun, func(progress *status.Progress) {
		progress.ShowRun(ctx, session.Temporal)
		wrong.Report(ctx, progress.Bar, session.Temporal, session.Endpoints, wanted)
	})
	if err != nil {
		return fmt.Errorf("run %s: %w", wanted.Name, err)
	}

	return nil
}

// startSummary is a run that was started and is not watched.
type startSummary struct {
	Run     string `json:"run"`
	Started bool   `json:"started"`
	View    string `json:"view,omitempty"` // address of its pages
}

func (x startSummary) text(out io.Writer, watch string) {
	terminal.Line(out, "run %s is under way; watch it with %s", x.Run, watch)
	if x.View != "" {
		terminal.Line(out, "see every episode: %s", x.View)
	}
}
