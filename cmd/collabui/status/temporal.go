package status

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/health"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workflows"
)

// Read reads the status of a run from the store, and from Temporal if the run has not finished.
func Read(ctx context.Context, bucket store.Bucket, endpoints config.Endpoints, run string) (Report, error) {
	st, err := ReadStored(ctx, bucket, run)
	if err != nil {
		return st, err
	}
	live := TemporalReader{Ends: endpoints}
	defer live.Close()
	live.Read(ctx, &st)

	origin, forked, err := runs.Run(run).Origin().May(ctx, bucket)
	if err != nil {
		return st, err
	}
	if forked {
		st.Origin = &origin
	}

	return st, st.ReadSpent(ctx, bucket)
}

// ReadLive queries the open workflows of a run for their progress, and the workers for their state.
func (st *Report) ReadLive(ctx context.Context, endpoints config.Endpoints) {
	if !st.open() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, health.ProbeLimit)
	defer cancel()
	temporal, err := app.Dial(ctx, endpoints)
	if err != nil {
		return
	}
	defer temporal.Close()

	l := &live{}
	var wg sync.WaitGroup
	wg.Go(func() { l.read(ctx, temporal, st.reported) })
	wg.Go(func() { l.Pending = ReadPending(ctx, temporal, st.Name) })
	wg.Go(func() { l.Around = readSurroundings(ctx, endpoints, st.Spec) })
	wg.Wait()
	st.Live = l
}

// TemporalReader reads from Temporal what it knows about runs. After a request without a response, it sends no other.
// Its methods may be called concurrently.
type TemporalReader struct {
	Ends config.Endpoints

	mu       sync.Mutex
	dialled  bool
	temporal client.Client // nil if Temporal does not respond
}

// Read fills in what Temporal knows about a run that has not finished. Without Temporal, its state is unknown.
func (x *TemporalReader) Read(ctx context.Context, st *Report) {
	if st.Status == stateFinished {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, health.ProbeLimit)
	defer cancel()
	temporal := x.dial(ctx)
	if temporal == nil {
		st.Status = stateUnknown

		return
	}
	st.readTemporal(ctx, temporal)
	if st.Status == stateUnknown {
		x.Close()
	}
}

func (x *TemporalReader) dial(ctx context.Context) client.Client {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.dialled {
		x.dialled = true
		if server, err := app.Dial(ctx, x.Ends); err == nil {
			x.temporal = server
		}
	}

	return x.temporal
}

// Close frees the connection. It may be repeated.
func (x *TemporalReader) Close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.temporal != nil {
		x.temporal.Close()
		x.temporal = nil
	}
}

// readTemporal fills in what Temporal knows about a run that has not finished.
func (st *Report) readTemporal(ctx context.Context, temporal client.Client) {
	description, err := temporal.DescribeWorkflow(ctx, st.Name, "")
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return
	}
	if err != nil {
		st.Status = stateUnknown
		return
	}
	switch description.RawResponse.WorkflowExecutionInfo.Status {
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
		st.Status = stateRunning
		if st.stoppedSince(description.RawResponse.WorkflowExecutionInfo.StartTime.AsTime()) {
			st.Status = stateStopping // even if the workflow is too busy to report it
		}
	case enums.WORKFLOW_EXECUTION_STATUS_COMPLETED: // without an end: by train --until
		st.Status = stateFineTuned
		st.Stage = workflows.StageFineTuned
		return
	default:
		st.Status = stateStopped
		return
	}

	var live workflows.Status
	if app.Query(ctx, temporal, st.Name, workflows.QueryStatus, &live) {
		st.Stage = live.Stage
		st.Reason = live.Reason
		st.Status = StateOf(live)
		st.reported = live
	}
}

// stoppedSince reports whether the newest change by a person, ignoring notes, is a stop after the given time.
func (st *Report) stoppedSince(begin time.Time) bool {
	for _, change := range slices.Backward(st.Changes) {
		if change.Verb != runs.VerbNote {
			return change.Verb == runs.VerbStop && change.At.After(begin)
		}
	}

	return false
}
