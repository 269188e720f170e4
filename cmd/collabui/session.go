package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/logging"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// session is a connection to the store and to Temporal.
type session struct {
	*app
	bucket   store.Keeper
	temporal client.Client
	ends     config.Endpoints
	unguard  func()
}

// connect opens a session, which the caller closes. Until then, the command's context ends when the services do.
func (a *app) connect(ctx context.Context) (*session, error) {
	b, e, err := a.bucket()
	if err != nil {
		return nil, err
	}
	unguard := a.guard()
	t, err := dial(ctx, e)
	if err != nil {
		unguard()

		return nil, err
	}

	return &session{app: a, bucket: b, temporal: t, ends: e, unguard: unguard}, nil
}

// connectUp is like connect, but first starts the local services if necessary.
func (a *app) connectUp(ctx context.Context, o upOptions) (*session, error) {
	if err := a.ensureUp(ctx, o); err != nil {
		return nil, err
	}

	return a.connect(ctx)
}

func (s *session) Close() {
	s.unguard()
	s.temporal.Close()
}

// dial connects to Temporal, without logs from the SDK.
func dial(ctx context.Context, e config.Endpoints) (client.Client, error) {
	return workers.Dial(ctx, e, logging.Silent())
}

// startOptions are the options of a workflow that runs at most once at a time.
func startOptions(id, summary string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: id, TaskQueue: workflows.QueueControl, StaticSummary: summary,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}
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

// query queries a workflow and reports whether it answered.
func query(ctx context.Context, t client.Client, id, name string, out any) bool {
	r, err := t.QueryWorkflow(ctx, id, "", name)

	return err == nil && r.Get(out) == nil
}

// awaited is a workflow, or anything else that ends.
type awaited interface {
	GetID() string
	Get(ctx context.Context, out any) error
}

// attend waits for a workflow and calls look every second. If the context ends, it reports that and returns
// errDetached.
func (s *session) attend(ctx context.Context, w awaited, look func(*viewer)) error {
	v := s.viewer(w.GetID())
	end := make(chan error, 1)
	go func() { end <- wait(ctx, w) }()
	for {
		select {
		case err := <-end:
			v.clear()
			if gone := s.gone(ctx); err != nil && gone != nil {
				return gone
			}
			if err != nil && ctx.Err() != nil {
				if !s.json {
					say(s.out, "detached; it continues, and the same command shows it again")
				}

				return errDetached
			}

			return endedWith(err)
		case <-time.After(time.Second):
			look(v)
		}
	}
}

// endedWith describes how a workflow ended that did not complete: stopped by a person, failed, or for unknown reasons.
func endedWith(err error) error {
	var app *temporal.ApplicationError
	var ended *temporal.WorkflowExecutionError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &app) && app.Type() == workflows.ErrStopped:
		return fmt.Errorf("%w: the command that started it continues it", errStopped)
	case errors.As(err, &ended):
		return fault.New(fault.Fatal, "%w", err)
	}

	return fault.New(fault.Transient, "%w", err)
}

// maxSilence is the number of times, a second apart, that wait tries to reach Temporal before it gives up.
const maxSilence = 60

// wait waits until a workflow has ended. If Temporal does not respond, as after a laptop's sleep, it tries again.
func wait(ctx context.Context, w awaited) (err error) {
	for range maxSilence {
		err = w.Get(ctx, nil)
		var done *temporal.WorkflowExecutionError
		var none *serviceerror.NotFound
		if err == nil || errors.As(err, &done) || errors.As(err, &none) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}

	return err
}

// showStatus shows the status of a run.
func (s *session) showStatus(ctx context.Context, v *viewer, run string) {
	var status workflows.Status
	if query(ctx, s.temporal, run, workflows.QueryStatus, &status) {
		v.status(ctx, s.temporal, status)
	}
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
	err := s.attend(ctx, w, func(v *viewer) {
		s.showStatus(ctx, v, x.Name)
		wrong.look(ctx, v, s.temporal, s.ends, x)
	})
	if err != nil {
		return fmt.Errorf("run %s: %w", x.Name, err)
	}

	return nil
}

// recordSpec records the specification of a run. If the name belongs to a different specification, it returns an error
// with the difference and what to do.
func recordSpec(ctx context.Context, b store.Bucket, s spec.Spec, todo string) error {
	recorded, _, err := runs.Run(s.Name).Spec().Record(ctx, b, func() (spec.Spec, error) { return s, nil })
	if err != nil {
		return err
	}
	if err := runs.Run(s.Name).Alive(ctx, b); err != nil {
		return err
	}
	if diff := difference(recorded, s); diff != "" {
		return fault.New(fault.Invalid, "run %q exists with another specification:\n%s%s", s.Name, diff, todo)
	}

	return nil
}

// anotherName explains how to start a new run of a specification whose name is taken.
func anotherName(file string) string {
	return fmt.Sprintf("choose another name for the run (in %s, or with --name) to start a new one", file)
}
