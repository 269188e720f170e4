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
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// goOn starts the workflow of a recorded run, or attaches to it, and shows the run until it ends. If the run has ended,
// goOn only shows it.
func goOn(ctx context.Context, s *app.Session, in workflows.RunInput, detach bool) error {
	run := runs.Run(in.Name)
	if in.FineTune {
		tuned, err := run.Base().Exists(ctx, s.Store)
		if err != nil {
			return err
		}
		if tuned {
			return status.ShowStage1(ctx, s.App, s.Store, in.Name)
		}
	}
	ended, err := run.End().Exists(ctx, s.Store)
	if err != nil {
		return err
	}
	if ended {
		return status.Show(ctx, s.App, s.Store, s.Endpoints, in.Name)
	}
	if err := start(ctx, s, in); err != nil {
		return err
	}
	if detach {
		x := detached{Run: in.Name, Started: true, View: status.RunPage(s.Endpoints, in.Name)}

		return s.Print(x, func(w io.Writer) { x.text(w, s.Typed("watch %s", in.Name)) })
	}

	return watch(ctx, s, in)
}

// start starts the workflow of a run. It succeeds if the workflow is already running.
func start(ctx context.Context, s *app.Session, in workflows.RunInput) error {
	if err := workers.CheckNamespace(ctx, s.Temporal, s.Endpoints.Namespace); err != nil {
		return err
	}
	if err := awaitStop(ctx, s, in.Name); err != nil {
		return err
	}
	ctx, err := claim(ctx, s, in.Name)
	if err != nil {
		return err
	}
	_, err = s.Temporal.ExecuteWorkflow(ctx, app.StartOptions(in.Name, "training run "+in.Name), workflows.Run, in)
	if err != nil {
		return fault.New(fault.Transient, "start run %s: %w", in.Name, err)
	}

	return nil
}

// awaitStop waits until a run that someone stopped has ended. A start before that would join the ending workflow.
func awaitStop(ctx context.Context, s *app.Session, run string) error {
	asked, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var st workflows.Status
	if !app.Query(asked, s.Temporal, run, workflows.QueryStatus, &st) || !st.Stopping {
		return nil
	}
	_ = s.Temporal.GetWorkflow(ctx, run, "").Get(ctx, nil) // its error only reports the stop

	return context.Cause(ctx)
}

// finish admits a specification, starts its run and shows it until it ends. If the run has ended already, finish
// returns immediately.
func finish(ctx context.Context, s *app.Session, x spec.Spec) error {
	if err := x.Validate(catalog.All{}); err != nil {
		return err
	}
	if err := admit(ctx, s, x, false, "use another data folder"); err != nil {
		return err
	}
	if err := start(ctx, s, workflows.RunInput{Name: x.Name}); err != nil {
		return err
	}
	w := s.Temporal.GetWorkflow(ctx, x.Name, "")
	var wrong status.Problems
	err := status.Attend(ctx, s, w, func(p *status.Progress) {
		p.ShowRun(ctx, s.Temporal)
		wrong.Report(ctx, p.Bar, s.Temporal, s.Endpoints, x)
	})
	if err != nil {
		return fmt.Errorf("run %s: %w", x.Name, err)
	}

	return nil
}

// detached is a run that was started and is not watched.
type detached struct {
	Run     string `json:"run"`
	Started bool   `json:"started"`
	View    string `json:"view,omitempty"` // address of its pages
}

func (x detached) text(w io.Writer, watch string) {
	terminal.Line(w, "run %s continues; watch it with %s", x.Run, watch)
	if x.View != "" {
		terminal.Line(w, "see every episode: %s", x.View)
	}
}
