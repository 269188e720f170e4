// Package status reads what is known about a run, from the store, Temporal and the workers, and prints it: once, or
// while the run is under way. It changes nothing.
package status

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/cmd/collabui/health"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// Report is the output of `show --json`.
type Report struct {
	Name        string           `json:"name"`
	Status      State            `json:"status"`
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
	Problems    []health.Finding `json:"problems,omitempty"` // services that do not respond
	Live        *live            `json:"live,omitempty"`     // while the run is open
	View        string           `json:"view,omitempty"`     // address of its pages
	Spec        spec.Spec        `json:"-"`
	reported    workflows.Status // reported by its workflow
	committed   int              // epochs
	pairs       int              // of all epochs
	next        typed            // returns a command as the user types it
	Made        map[string]bool  `json:"-"` // digests of the policies of its epochs, and of its base
}

// typed is a function such as app.App.Command.
type typed func(command string, args ...any) string

// failedSlots are the number of failed slots in an epoch and, if that exceeds failed_share, who accepted them.
type failedSlots struct {
	Epoch    int    `json:"epoch"`
	Slots    int    `json:"slots"`
	Accepted string `json:"accepted,omitempty"` // who accepted it, and why
}

// ReadStored reads what the store knows about a run.
func ReadStored(ctx context.Context, bucket store.Bucket, run string) (Report, error) {
	specification, err := runs.Run(run).Current(ctx, bucket)
	if err != nil {
		return Report{}, err
	}
	st := Report{
		Name: run, Status: stateAbsent, Stage: "planned", Epochs: specification.Epochs,
		Curve: []runs.EvalPoint{}, Results: []runs.Result{}, // in JSON [], not null
		Critic: rules.CriticName(specification, catalog.All{}), Spec: specification, Made: map[string]bool{},
	}

	return st, st.read(ctx, bucket)
}

// read fills in what the store knows.
func (st *Report) read(ctx context.Context, bucket store.Bucket) error {
	run := runs.Run(st.Name)
	var err error
	if st.Changes, err = run.Changes(ctx, bucket, 0, 0); err != nil {
		return err
	}
	base, there, err := run.Base().May(ctx, bucket)
	if err != nil {
		return err
	}
	if there {
		st.Base = &base
		st.Stage = workflows.StageEpoch
		st.Made[base.Policy.Digest] = true
	}
	if err := st.readEpochs(ctx, bucket); err != nil {
		return err
	}
	if st.Base != nil && st.Epoch >= st.Epochs {
		st.Stage = workflows.StageEvaluation
	}

	end, ended, err := run.End().May(ctx, bucket)
	if ended {
		st.Status = stateFinished
		st.Stage = workflows.StageDone
		st.FinalDigest = end.FinalDigest
		st.Best = end.Best
		st.Results = end.Results
		st.Curve = end.Curve
	}
	if ended && st.committed > 0 && st.pairs == 0 {
		st.Warning = fmt.Sprintf("no epoch trained anything: none of %d made a row to learn from, so the policies are "+
			"those of the start. See what %s said of the steps with `collabui show %s 1/1`",
			st.committed, st.Critic, st.Name)
	}

	return err
}

// ReadSpent fills in the cost of calls to chat endpoints, if the run makes any.
func (st *Report) ReadSpent(ctx context.Context, bucket store.Bucket) error {
	if len(st.Spec.Models) == 0 {
		return nil
	}
	run := runs.Run(st.Name)
	var err error
	if st.Spending, err = run.Spending(ctx, bucket); err != nil {
		return err
	}
	spent, err := run.Total(ctx, bucket, st.Spending)
	if err != nil {
		return err
	}
	st.Spent = &spent
	st.Forecast = forecast(st.Spending, st.Epoch, st.Epochs)

	return nil
}

// readEpochs reads the committed epochs, their evaluations on val, and the updates of the newest one.
func (st *Report) readEpochs(ctx context.Context, bucket store.Bucket) error {
	var newest runs.Epoch
	for {
		epoch, committed, err := runs.Run(st.Name).Epoch(st.Epoch+1).May(ctx, bucket)
		if err != nil {
			return err
		}
		if !committed {
			st.committed = st.Epoch

			return st.readUpdates(ctx, bucket, newest)
		}
		st.Epoch++
		newest = epoch
		st.pairs += epoch.Pairs
		for _, digest := range epoch.System.Digests() {
			st.Made[digest] = true
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
func (st *Report) readUpdates(ctx context.Context, bucket store.Bucket, epoch runs.Epoch) error {
	for _, ref := range epoch.Updates {
		update, _, err := store.Must[runs.Update](ctx, bucket, ref.Key)
		if err != nil {
			return err
		}
		st.Updates = append(st.Updates, update)
	}

	return nil
}

// IsUnknown reports whether the state of the run is unknown, because Temporal does not respond.
func (st *Report) IsUnknown() bool { return st.Status == stateUnknown }

// open reports whether the workflow of the run is open.
func (st *Report) open() bool {
	return st.Status == stateRunning || st.Status == statePaused || st.Status == stateStopping
}
