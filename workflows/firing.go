package workflows

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities/retrain"
	"github.com/collabui/collabui/domain"
)

// Updates of a firing that waits for approval.
const (
	UpdateApprove = "approve"
	UpdateReject  = "reject"
)

// Stages of a firing, as FiringStatus names them.
const (
	StageLooking  = "looking"
	StageDrift    = "checking for drift"
	StageTraining = "training"
	StageGate     = "gate"
	StageApproval = "waiting for approval"
	StageRuled    = "done"
)

// FiringStatus answers the query "status" of a firing.
type FiringStatus struct {
	Schedule string    `json:"schedule"`
	Firing   string    `json:"firing"`
	Stage    string    `json:"stage"`
	News     string    `json:"news"`
	Run      string    `json:"run,omitempty"`
	Why      string    `json:"why,omitempty"`
	Deadline time.Time `json:"deadline,omitzero"` // of the approval
}

// RetrainID is the beginning of the ids of a schedule's firings.
func RetrainID(schedule string) string { return "retrain/" + schedule }

// firingOf returns the name of a firing: its nominal time, which Temporal appends to the id of its workflow.
func firingOf(info *workflow.Info) string {
	const stamp = "2006-01-02T15:04:05Z"
	id := info.WorkflowExecution.ID
	at := info.WorkflowStartTime
	if len(id) > len(stamp) {
		if moment, err := time.Parse(stamp, id[len(id)-len(stamp):]); err == nil {
			at = moment
		}
	}

	return at.UTC().Format("20060102-150405")
}

// firing is a firing while its workflow runs.
type firing struct {
	id       retrain.FiringID
	found    retrain.Found
	status   FiringStatus
	ruling   *retrain.Ruling // by a person
	notified bool            // people know that it waits
}

// setup registers the query and the updates of a firing.
func (f *firing) setup(ctx workflow.Context) error {
	status := func() (FiringStatus, error) { return f.status, nil }
	if err := workflow.SetQueryHandler(ctx, QueryStatus, status); err != nil {
		return err
	}
	valid := func(command Command) error {
		if f.status.Stage != StageApproval {
			return fmt.Errorf("nothing waits for approval: the firing is at %q", f.status.Stage)
		}

		return command.check()
	}
	rule := func(accepted bool) func(workflow.Context, Command) (FiringStatus, error) {
		return func(ctx workflow.Context, c Command) (FiringStatus, error) {
			f.ruling = &retrain.Ruling{Accepted: accepted, Who: c.Who, Why: c.Why}
			f.status.Stage = StageRuled

			return f.status, nil
		}
	}

	return errors.Join(
		handleUpdate(ctx, UpdateApprove, valid, rule(true)),
		handleUpdate(ctx, UpdateReject, valid, rule(false)),
	)
}

// enter begins a stage of the firing.
func (f *firing) enter(ctx workflow.Context, stage string) {
	f.status.Stage = stage
	f.describe(ctx, "")
}

// describe writes the state of the firing into the details that the Temporal UI shows.
func (f *firing) describe(ctx workflow.Context, waits string) {
	text := fmt.Sprintf("**%s**: %s", f.status.Stage, f.status.News)
	if f.status.Why != "" {
		text += "\n\n" + f.status.Why
	}
	if f.status.Run != "" {
		text += "\n\nrun " + f.status.Run
	}
	if !f.status.Deadline.IsZero() && f.status.Stage == StageApproval {
		text += "\n\nsend the update `approve` or `reject` with `{\"Who\": …, \"Why\": …}` before " +
			f.status.Deadline.Format(time.RFC3339)
	}
	if waits != "" {
		text += "\n\nit is tried again, because " + waits
	}
	workflow.SetCurrentDetails(ctx, text)
}

// patience is how the firing waits for infrastructure.
func (f *firing) patience(ctx workflow.Context) patience {
	return patience{
		waits: func(why string) {
			f.describe(ctx, why)
			f.waits(ctx, why)
		},
		renew: func() error { return continueAsNew(ctx, Retrain, f.input()) },
	}
}

// input returns what the firing continues with as new. What it has found and done is in the store.
func (f *firing) input() RetrainInput {
	return RetrainInput{Schedule: f.id.Schedule, Version: f.id.Version, Since: &Since{
		Firing: f.id.ID, At: f.id.At, Waited: f.notified, Deadline: f.status.Deadline, Ruling: f.ruling,
	}}
}

// act repeats an action until it succeeds, or until it fails for a reason that only a person can remove.
func (f *firing) act(ctx workflow.Context, do func(workflow.Context) error) error {
	return f.patience(ctx).insist(ctx, do)
}

// waits notifies people once that the firing waits: later ones may be skipped until it continues. Nothing waits for the
// notice.
func (f *firing) waits(ctx workflow.Context, why string) {
	if f.notified {
		return
	}
	f.notified = true
	notice := f.notice(ctx, domain.NoticePaused, fmt.Sprintf("firing %s of schedule %s (%s) is tried again every %s, "+
		"because %s. To give it up, cancel its workflow in the Temporal UI",
		f.id.ID, f.id.Schedule, f.status.Stage, pauseLimit, why))
	workflow.Go(ctx, func(ctx workflow.Context) {
		post := on(ctx, QueueControl, "notify: "+string(notice.Kind))
		_ = workflow.ExecuteActivity(post, control.Post, notice).Get(ctx, nil)
	})
}
