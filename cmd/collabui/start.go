package main

import (
	"context"
	"fmt"
	"io"
	"time"

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
func (s *session) goOn(ctx context.Context, in workflows.RunInput, detach bool) error {
	run := runs.Run(in.Name)
	if in.FineTune {
		tuned, err := run.Base().Exists(ctx, s.bucket)
		if err != nil {
			return err
		}
		if tuned {
			return s.showStage1(ctx, s.bucket, in.Name)
		}
	}
	ended, err := run.End().Exists(ctx, s.bucket)
	if err != nil {
		return err
	}
	if ended {
		return s.show(ctx, s.bucket, s.ends, in.Name)
	}
	if err := s.start(ctx, in); err != nil {
		return err
	}
	if detach {
		x := detached{Run: in.Name, Started: true, View: runPage(s.ends, in.Name)}

		return s.print(x, func(w io.Writer) { x.text(w, s.typed("watch %s", in.Name)) })
	}

	return s.watch(ctx, in)
}

// start starts the workflow of a run. It succeeds if the workflow is already running.
func (s *session) start(ctx context.Context, in workflows.RunInput) error {
	if err := workers.CheckNamespace(ctx, s.temporal, s.ends.Namespace); err != nil {
		return err
	}
	if err := s.awaitStop(ctx, in.Name); err != nil {
		return err
	}
	ctx, err := s.claim(ctx, in.Name)
	if err != nil {
		return err
	}
	_, err = s.temporal.ExecuteWorkflow(ctx, startOptions(in.Name, "training run "+in.Name), workflows.Run, in)
	if err != nil {
		return fault.New(fault.Transient, "start run %s: %w", in.Name, err)
	}

	return nil
}

// awaitStop waits until a run that someone stopped has ended. A start before that would join the ending workflow.
func (s *session) awaitStop(ctx context.Context, run string) error {
	asked, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var st workflows.Status
	if !query(asked, s.temporal, run, workflows.QueryStatus, &st) || !st.Stopping {
		return nil
	}
	_ = s.temporal.GetWorkflow(ctx, run, "").Get(ctx, nil) // its error only reports the stop

	return context.Cause(ctx)
}

// finish admits a specification, starts its run and shows it until it ends. If the run has ended already, finish
// returns immediately.
func (s *session) finish(ctx context.Context, x spec.Spec) error {
	if err := x.Validate(catalog.All{}); err != nil {
		return err
	}
	if err := s.admit(ctx, x, false, "use another data folder"); err != nil {
		return err
	}
	if err := s.start(ctx, workflows.RunInput{Name: x.Name}); err != nil {
		return err
	}
	w := s.temporal.GetWorkflow(ctx, x.Name, "")
	var wrong troubles
	err := s.attend(ctx, w, func(p *progress) {
		p.runStatus(ctx, s.temporal)
		wrong.look(ctx, p.Bar, s.temporal, s.ends, x)
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
