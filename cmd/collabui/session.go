package main

import (
	"context"
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/process/logging"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers"
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

// query queries a workflow and reports whether it answered.
func query(ctx context.Context, t client.Client, id, name string, out any) bool {
	r, err := t.QueryWorkflow(ctx, id, "", name)

	return err == nil && r.Get(out) == nil
}

// here returns a context for starting workflows that belong to the store of this session and, unless run is empty,
// drive that run.
func (s *session) here(ctx context.Context, run string) (context.Context, error) {
	own, err := store.Identify(ctx, s.bucket)

	return activities.Belonging{Store: own.ID, Where: workers.Where(s.ends), Run: run}.In(ctx), err
}

// update sends an update to a workflow, such as a run's, and waits until the workflow has applied it. The error is a
// serviceerror.NotFound if no such workflow is open.
func (s *session) update(ctx context.Context, name, id string, asked, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // no update completes without a worker
	defer cancel()
	h, err := s.temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: name, WaitForStage: client.WorkflowUpdateStageCompleted, Args: []any{asked},
	})
	if err == nil {
		err = h.Get(ctx, out)
	}
	var missing *serviceerror.NotFound
	var down *serviceerror.Unavailable
	switch {
	case err == nil || errors.As(err, &missing):
		return err
	case errors.As(err, &down) || ctx.Err() != nil:
		return fault.New(fault.Transient, "%s %s: no worker answers: %w", name, id, err)
	}

	return fault.New(fault.Invalid, "%s %s: %w", name, id, err)
}
