package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// state describes what a run is doing now.
type state string

const (
	stateAbsent    state = "absent"  // the run is only in the store: Temporal has no workflow of it
	stateUnknown   state = "unknown" // Temporal does not respond
	stateRunning   state = "running"
	statePaused    state = "paused"
	stateStopping  state = "stopping"
	stateStopped   state = "stopped"
	stateFineTuned state = "fine-tuned" // only stage 1 has been run
	stateFinished  state = "finished"
)

// status is the output of `show --json`.
type status struct {
	Name        string           `json:"name"`
	Status      state            `json:"status"`
	Stage       string           `json:"stage"`
	Epoch       int              `json:"epoch"`
	Epochs      int              `json:"epochs"`
	Reason      string           `json:"reason,omitempty"`
	Warning     string           `json:"warning,omitempty"` // why a run that has finished is of no use
	FinalDigest string           `json:"final_digest"`
	Best        int              `json:"best_epoch,omitempty"`
	Base        *runs.Base       `json:"base,omitempty"`
	Origin      *runs.Origin     `json:"origin,omitempty"` // of a fork
	Curve       []runs.EvalPoint `json:"curve"`
	Updates     []runs.Update    `json:"updates,omitempty"` // of the newest epoch, by agent
	Results     []runs.Result    `json:"results"`
	Critic      string           `json:"critic"`
	Changes     []runs.Change    `json:"changes,omitempty"`  // by people
	Spent       *runs.Spent      `json:"spent,omitempty"`    // cost of calls to chat endpoints
	Spending    []runs.Spending  `json:"spending,omitempty"` // the same by role, model and epoch
	Forecast    float64          `json:"forecast,omitempty"` // cost at the end, if the remaining epochs cost as much
	LeftOut     []failedSlots    `json:"left_out,omitempty"` // by epoch, if anything was left out
	Problems    []finding        `json:"problems,omitempty"` // services that do not respond
	Live        *live            `json:"live,omitempty"`     // while the run is open
	View        string           `json:"view,omitempty"`     // address of its pages
	spec        spec.Spec
	told        workflows.Status // reported by its workflow
	committed   int              // epochs
	pairs       int              // of all epochs
	made        map[string]bool  // digests of the policies of its epochs, and of its base
}

// failedSlots are the number of failed slots in an epoch and, if that exceeds failed_share, who accepted them.
type failedSlots struct {
	Epoch    int    `json:"epoch"`
	Slots    int    `json:"slots"`
	Accepted string `json:"accepted,omitempty"` // who accepted it, and why
}

// readStatus reads the status of a run from the store, and from Temporal if the run has not finished.
func readStatus(ctx context.Context, b store.Bucket, e config.Endpoints, run string) (status, error) {
	st, err := readStored(ctx, b, run)
	if err != nil {
		return st, err
	}
	live := liveReader{ends: e}
	defer live.Close()
	live.read(ctx, &st)

	origin, forked, err := runs.Run(run).Origin().May(ctx, b)
	if err != nil {
		return st, err
	}
	if forked {
		st.Origin = &origin
	}

	return st, st.readSpent(ctx, b)
}

// readStored reads what the store knows about a run.
func readStored(ctx context.Context, b store.Bucket, run string) (status, error) {
	s, err := runs.Run(run).Current(ctx, b)
	if err != nil {
		return status{}, err
	}
	st := status{
		Name: run, Status: stateAbsent, Stage: "planned", Epochs: s.Epochs,
		Curve: []runs.EvalPoint{}, Results: []runs.Result{}, // in JSON [], not null
		Critic: rules.CriticName(s, catalog.All{}), spec: s, made: map[string]bool{},
	}

	return st, st.read(ctx, b)
}

// liveReader reads from Temporal what it knows about runs. After a request without a response, it sends no other. Its
// methods may be called concurrently.
type liveReader struct {
	ends config.Endpoints

	mu       sync.Mutex
	dialled  bool
	temporal client.Client // nil if Temporal does not respond
}

// read fills in what Temporal knows about a run that has not finished. Without Temporal, its state is unknown.
func (x *liveReader) read(ctx context.Context, st *status) {
	if st.Status == stateFinished {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	t := x.dial(ctx)
	if t == nil {
		st.Status = stateUnknown

		return
	}
	st.ask(ctx, t)
	if st.Status == stateUnknown {
		x.Close()
	}
}

func (x *liveReader) dial(ctx context.Context) client.Client {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.dialled {
		x.dialled = true
		if t, err := dial(ctx, x.ends); err == nil {
			x.temporal = t
		}
	}

	return x.temporal
}

// Close frees the connection. It may be repeated.
func (x *liveReader) Close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.temporal != nil {
		x.temporal.Close()
		x.temporal = nil
	}
}

// read fills in what the store knows.
func (st *status) read(ctx context.Context, b store.Bucket) error {
	run := runs.Run(st.Name)
	var err error
	if st.Changes, err = run.Changes(ctx, b, 0, 0); err != nil {
		return err
	}
	base, there, err := run.Base().May(ctx, b)
	if err != nil {
		return err
	}
	if there {
		st.Base, st.Stage = &base, workflows.StageEpoch
		st.made[base.Policy.Digest] = true
	}
	if err := st.readEpochs(ctx, b); err != nil {
		return err
	}

	end, ended, err := run.End().May(ctx, b)
	if ended {
		st.Status, st.Stage = stateFinished, workflows.StageDone
		st.FinalDigest, st.Best = end.FinalDigest, end.Best
		st.Results, st.Curve = end.Results, end.Curve
	}
	if ended && st.committed > 0 && st.pairs == 0 {
		st.Warning = fmt.Sprintf("no epoch trained anything: none of %d made a row to learn from, so the policies are "+
			"those of the start. See what %s said of the steps with `collabui show %s 1/1`",
			st.committed, st.Critic, st.Name)
	}

	return err
}

// readSpent fills in the cost of calls to chat endpoints, if the run makes any.
func (st *status) readSpent(ctx context.Context, b store.Bucket) error {
	if len(st.spec.Models) == 0 {
		return nil
	}
	run := runs.Run(st.Name)
	var err error
	if st.Spending, err = run.Spending(ctx, b); err != nil {
		return err
	}
	spent, err := run.Total(ctx, b, st.Spending)
	if err != nil {
		return err
	}
	st.Spent, st.Forecast = &spent, forecast(st.Spending, st.Epoch, st.Epochs)

	return nil
}

// readEpochs reads the committed epochs, their evaluations on val, and the updates of the newest one.
func (st *status) readEpochs(ctx context.Context, b store.Bucket) error {
	var newest runs.Epoch
	for {
		epoch, committed, err := runs.Run(st.Name).Epoch(st.Epoch+1).May(ctx, b)
		if err != nil {
			return err
		}
		if !committed {
			st.committed = st.Epoch

			return st.readUpdates(ctx, b, newest)
		}
		st.Epoch++
		newest = epoch
		st.pairs += epoch.Pairs
		for _, digest := range epoch.System.Digests() {
			st.made[digest] = true
		}
		if epoch.FailedAll > 0 || epoch.Accepted != "" {
			st.LeftOut = append(st.LeftOut, failedSlots{st.Epoch, epoch.FailedAll, epoch.Accepted})
		}
		if epoch.Val != nil {
			st.Curve = append(st.Curve, runs.EvalPoint{At: st.Epoch, Rate: epoch.Val.Rate})
		}
	}
}

// readUpdates reads the updates of an epoch.
func (st *status) readUpdates(ctx context.Context, b store.Bucket, epoch runs.Epoch) error {
	for _, r := range epoch.Updates {
		u, _, err := store.Must[runs.Update](ctx, b, r.Key)
		if err != nil {
			return err
		}
		st.Updates = append(st.Updates, u)
	}

	return nil
}

// ask fills in what Temporal knows about a run that has not finished.
func (st *status) ask(ctx context.Context, t client.Client) {
	d, err := t.DescribeWorkflowExecution(ctx, st.Name, "")
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return
	}
	if err != nil {
		st.Status = stateUnknown
		return
	}
	switch d.WorkflowExecutionInfo.Status {
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
		st.Status = stateRunning
		if st.stoppedSince(d.WorkflowExecutionInfo.StartTime.AsTime()) {
			st.Status = stateStopping // even if the workflow is too busy to report it
		}
	case enums.WORKFLOW_EXECUTION_STATUS_COMPLETED: // without an end: by train --until
		st.Status, st.Stage = stateFineTuned, workflows.StageFineTuned
		return
	default:
		st.Status = stateStopped
		return
	}

	var live workflows.Status
	if query(ctx, t, st.Name, workflows.QueryStatus, &live) {
		st.Stage, st.Reason = live.Stage, live.Reason
		st.Status, st.told = stateOf(live), live
	}
}

// stoppedSince reports whether the newest change by a person, ignoring notes, is a stop after the given time.
func (st *status) stoppedSince(begin time.Time) bool {
	for _, c := range slices.Backward(st.Changes) {
		if c.Verb != runs.VerbNote {
			return c.Verb == runs.VerbStop && c.At.After(begin)
		}
	}

	return false
}

// stateOf returns the state of a run whose workflow is open.
func stateOf(x workflows.Status) state {
	switch {
	case x.Stopping, x.StopAfter != "":
		return stateStopping
	case x.Paused:
		return statePaused
	}

	return stateRunning
}
