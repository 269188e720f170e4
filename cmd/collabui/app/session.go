package app

import (
	"context"
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/activities/guard"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/observe/logging"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workflows"
)

// Session is a connection to the store and to Temporal.
type Session struct {
	*App
	Store     store.Keeper
	Temporal  client.Client
	Endpoints config.Endpoints
	unguard   func()
}

// Connect opens a session, which the caller closes. Until then, the command's context ends when the services do.
func (a *App) Connect(ctx context.Context) (*Session, error) {
	bucket, endpoints, err := a.OpenStore()
	if err != nil {
		return nil, err
	}
	unguard := a.guard()
	temporal, err := Dial(ctx, endpoints)
	if err != nil {
		unguard()

		return nil, err
	}

	return &Session{App: a, Store: bucket, Temporal: temporal, Endpoints: endpoints, unguard: unguard}, nil
}

// ConnectToRead opens a session for a command that only reads. Temporal is nil if it does not run.
func (a *App) ConnectToRead(ctx context.Context) (*Session, error) {
	bucket, endpoints, err := a.OpenObjects()
	if err != nil {
		return nil, err
	}
	session := &Session{App: a, Store: bucket, Endpoints: endpoints, unguard: func() {}}
	if endpoints.Temporal != "" {
		session.Temporal, err = Dial(ctx, endpoints)
	}

	return session, err
}

// StartAndConnect is like Connect, but first starts the local services if necessary.
func (a *App) StartAndConnect(ctx context.Context, options ServiceOptions) (*Session, error) {
	if err := a.StartServices(ctx, options); err != nil {
		return nil, err
	}

	return a.Connect(ctx)
}

// Close frees the connections.
func (s *Session) Close() {
	s.unguard()
	if s.Temporal != nil {
		s.Temporal.Close()
	}
}

// Dial connects to Temporal, without logs from the SDK.
func Dial(ctx context.Context, endpoints config.Endpoints) (client.Client, error) {
	if endpoints.Temporal == "" { // the SDK would choose an address
		return nil, fault.New(fault.Transient, "no Temporal runs, and %s is not set", config.EnvTemporal)
	}

	return workers.Dial(ctx, endpoints, logging.Silent())
}

// StartOptions are the options of a workflow that runs at most once at a time.
func StartOptions(id, summary string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: id, TaskQueue: workflows.QueueControl, StaticSummary: summary,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}
}

// Query queries a workflow and reports whether it answered.
func Query(ctx context.Context, temporal client.Client, id, name string, out any) bool {
	encodedValue, err := temporal.QueryWorkflow(ctx, id, "", name)

	return err == nil && encodedValue.Get(out) == nil
}

// StartContext returns a context for starting workflows that belong to the store of this session and, unless run is
// empty, drive that run.
func (s *Session) StartContext(ctx context.Context, run string) (context.Context, error) {
	own, err := store.Identify(ctx, s.Store)

	return guard.Belonging{Store: own.ID, Where: workers.Where(s.Endpoints), Run: run}.In(ctx), err
}

// Refusal is the error with which a workflow refuses an update.
type Refusal struct{ error }

// Unwrap returns the reason.
func (r Refusal) Unwrap() error { return r.error }

// Update sends an update to a workflow, such as a run's, and waits until the workflow has applied it. The error is a
// serviceerror.NotFound if no such workflow is open.
func (s *Session) Update(ctx context.Context, name, id string, asked, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // no update completes without a worker
	defer cancel()
	handle, err := s.Temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: name, WaitForStage: client.WorkflowUpdateStageCompleted, Args: []any{asked},
	})
	if err == nil {
		err = handle.Get(ctx, out)
	}
	var missing *serviceerror.NotFound
	var down *serviceerror.Unavailable
	switch {
	case err == nil || errors.As(err, &missing):
		return err
	case errors.As(err, &down) || ctx.Err() != nil:
		return fault.New(fault.Transient, "%s %s: no worker answers: %w", name, id, err)
	}

	return fault.New(fault.Invalid, "%s %s: %w", name, id, Refusal{err})
}
