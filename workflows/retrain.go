package workflows

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	retraining "github.com/collabui/collabui/activities/retrain"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/retrain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
)

// RetrainInput is what a schedule starts. The time of the firing is in the id of the workflow.
type RetrainInput struct {
	Schedule string
	Version  int

	Since *Since `json:",omitempty"` // nil: the firing begins
}

// Since is what a firing that waited for infrastructure knows of what was before.
type Since struct {
	Firing   string
	At       time.Time
	Waited   bool               `json:",omitempty"` // people know that it waits
	Deadline time.Time          `json:",omitzero"`  // of the approval
	Ruling   *retraining.Ruling `json:",omitempty"` // by a person
}

// Retrain is one firing of a schedule: it looks what is new, trains the accepted system again on it, compares both, and
// decides which one the line accepts. A firing ends once: one that is started again finds how it ended.
func Retrain(ctx workflow.Context, in RetrainInput) (schedules.Outcome, error) {
	f := &firing{id: retraining.FiringID{
		Schedule: in.Schedule, Version: in.Version, ID: firingOf(workflow.GetInfo(ctx)), At: workflow.Now(ctx).UTC(),
	}}
	f.status = FiringStatus{Schedule: in.Schedule, Stage: StageLooking}
	if since := in.Since; since != nil {
		f.id.ID = since.Firing
		f.id.At = since.At
		f.notified = since.Waited
		f.status.Deadline = since.Deadline
		f.ruling = since.Ruling
	}
	f.status.Firing = f.id.ID
	if err := f.setup(ctx); err != nil {
		return schedules.Outcome{}, err
	}
	outcome, err := f.fire(ctx)
	if err == nil || ctx.Err() != nil || workflow.IsContinueAsNewError(err) {
		return outcome, err
	}
	why, _ := rootCause(err)
	_, unrecorded := f.end(ctx, schedules.Outcome{Verb: schedules.VerbFailed, Why: why, Run: f.found.Run})

	return outcome, errors.Join(err, unrecorded)
}

// fire does what a firing does.
func (f *firing) fire(ctx workflow.Context) (schedules.Outcome, error) {
	look := on(ctx, QueueControl, "what does the environment offer?")
	if err := f.act(ctx, func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(long(look), control.Look, f.id).Get(ctx, &f.found)
	}); err != nil {
		return schedules.Outcome{}, err
	}
	if f.found.Outcome != nil {
		return *f.found.Outcome, nil
	}
	if n := f.found.Missed; n > 0 {
		why := fmt.Sprintf("%d firings before this one were later than catch_up allows, and did not take place", n)
		if err := f.notify(ctx, domain.NoticeMissed, why); err != nil {
			return schedules.Outcome{}, err
		}
	}

	f.status.News = string(f.found.News)
	f.status.Why = f.found.Why
	f.status.Run = f.found.Run
	if f.found.News == schedules.NewsNone {
		return f.end(ctx, schedules.Outcome{Verb: schedules.VerbNone, Why: f.found.Why})
	}

	return f.retrain(ctx)
}

// retrain trains the accepted system again and decides.
func (f *firing) retrain(ctx workflow.Context) (schedules.Outcome, error) {
	fork := long(on(ctx, QueueControl, "fork the accepted system as "+f.found.Run))
	if err := f.act(ctx, func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(fork, control.Fork, f.id).Get(ctx, nil)
	}); err != nil {
		return schedules.Outcome{}, err
	}
	if f.found.News == schedules.NewsCheck {
		drift, err := f.drifted(ctx)
		if err != nil {
			return schedules.Outcome{}, err
		}
		f.status.Why = drift.Why
		if !drift.Drifted {
			return f.end(ctx, schedules.Outcome{Verb: schedules.VerbNone, Why: drift.Why, Run: f.found.Run})
		}
	}

	if why, err := f.train(ctx); err != nil || why != "" {
		if err != nil {
			return schedules.Outcome{}, err
		}

		return f.end(ctx, schedules.Outcome{Verb: schedules.VerbNone, Why: why, Run: f.found.Run})
	}
	judged, err := f.gate(ctx)
	if err != nil {
		return schedules.Outcome{}, err
	}

	return f.rule(ctx, judged)
}

// drifted checks whether the accepted system has become worse.
func (f *firing) drifted(ctx workflow.Context) (drift retraining.Drift, err error) {
	f.enter(ctx, StageDrift)
	var items []rules.EvalItem
	plan := long(on(ctx, QueueControl, "what the accepted system plays"))
	err = f.act(ctx, func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(plan, control.PlanDrift, f.id).Get(ctx, &items)
	})
	if err != nil || len(items) == 0 {
		return retraining.Drift{Why: "nobody recorded how the accepted system did, so no drift can be seen"}, err
	}
	results, err := f.evaluate(ctx, "drift", items)
	if err != nil {
		return drift, err
	}
	compare := on(ctx, QueueControl, "compare with when it was made")
	err = f.act(ctx, func(ctx workflow.Context) error {
		checked := retraining.Checked{Firing: f.id, Result: results[0]}

		return workflow.ExecuteActivity(compare, control.Drifted, checked).Get(ctx, &drift)
	})

	return drift, err
}

// evaluate plays items in a child workflow.
func (f *firing) evaluate(ctx workflow.Context, label string, items []rules.EvalItem) (out []runs.Result, err error) {
	err = f.act(ctx, func(ctx workflow.Context) error {
		id := f.found.Run + "/eval/" + label
		cctx := child(ctx, id, label+": the accepted system and what it is compared with, on the same episodes")

		return childError(ctx, workflow.ExecuteChildWorkflow(cctx, Evaluation, items).Get(ctx, &out))
	})

	return out, err
}

// train runs the run. It returns why nothing came of it: a person stopped it.
func (f *firing) train(ctx workflow.Context) (stopped string, err error) {
	f.enter(ctx, StageTraining)
	err = trainRun(ctx, f.found.Run, f.patience(ctx))
	var app *temporal.ApplicationError
	if errors.As(err, &app) && app.Type() == ErrStopped {
		return app.Message(), nil
	}

	return "", err
}

// gate compares both systems.
func (f *firing) gate(ctx workflow.Context) (judged retraining.Judged, err error) {
	f.enter(ctx, StageGate)
	var items []rules.EvalItem
	plan := long(on(ctx, QueueControl, "what both systems play"))
	if err = f.act(ctx, func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(plan, control.PlanGate, f.id).Get(ctx, &items)
	}); err != nil {
		return judged, err
	}
	if len(items) > 0 {
		if _, err = f.evaluate(ctx, "gate", items); err != nil {
			return judged, err
		}
	}
	judge := long(on(ctx, QueueControl, "the gate decides"))
	err = f.act(ctx, func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(judge, control.Judge, f.id).Get(ctx, &judged)
	})
	f.status.Why = judged.Why

	return judged, err
}

// rule writes the verdict of the gate or of a person into the line.
func (f *firing) rule(ctx workflow.Context, judged retraining.Judged) (schedules.Outcome, error) {
	ruling := retraining.Ruling{
		Firing: f.id, Accepted: judged.Accepted, Who: "schedule " + f.id.Schedule, Why: judged.Why,
	}
	if within := retrain.Duration(f.found.Approval); judged.Accepted && within > 0 {
		if f.status.Deadline.IsZero() {
			f.status.Deadline = workflow.Now(ctx).Add(within)
		}
		f.enter(ctx, StageApproval)
		ask := fmt.Sprintf("approve or reject it before %s: %s", f.status.Deadline.Format(time.RFC3339), judged.Why)
		if err := f.notify(ctx, domain.NoticeApproval, ask); err != nil {
			return schedules.Outcome{}, err
		}
		left := f.status.Deadline.Sub(workflow.Now(ctx))
		asked, err := workflow.AwaitWithTimeout(ctx, left, func() bool { return f.ruling != nil })
		switch {
		case err != nil:
			return schedules.Outcome{}, err
		case asked:
			ruling.Accepted = f.ruling.Accepted
			ruling.Who = f.ruling.Who
			ruling.Why = f.ruling.Why + " (" + judged.Why + ")"
		default:
			ruling.Accepted = false
			ruling.Why = fmt.Sprintf("nobody approved it within %v (%s)", within, judged.Why)
		}
	}

	f.enter(ctx, StageRuled)
	ruling.At = workflow.Now(ctx).UTC()
	var entered retraining.Entered
	write := on(ctx, QueueControl, "write the next entry of line "+f.found.Line)
	if err := f.act(ctx, func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(write, control.Rule, ruling).Get(ctx, &entered)
	}); err != nil {
		return schedules.Outcome{}, err
	}

	return f.end(ctx, schedules.Outcome{Verb: entered.Verb, Why: entered.Why, Run: f.found.Run, Entry: entered.Number})
}

// notify notifies people.
func (f *firing) notify(ctx workflow.Context, kind domain.NoticeKind, why string) error {
	notice := f.notice(ctx, kind, why)

	return f.act(ctx, func(ctx workflow.Context) error {
		post := on(ctx, QueueControl, "notify: "+string(kind))

		return workflow.ExecuteActivity(post, control.Post, notice).Get(ctx, nil)
	})
}

// notice returns a notice of the firing.
func (f *firing) notice(ctx workflow.Context, kind domain.NoticeKind, text string) domain.Notice {
	return domain.Notice{
		ID: fmt.Sprintf("%s/%s/%s", f.id.Schedule, f.id.ID, kind), Kind: kind, At: workflow.Now(ctx).UTC(),
		Run: f.found.Run, Line: f.found.Line, Schedule: f.id.Schedule, Text: text,
	}
}

// noticeKinds has the outcomes of which people are notified.
var noticeKinds = map[string]domain.NoticeKind{
	string(lines.Promote): domain.NoticePromoted, string(lines.Reject): domain.NoticeRejected,
	schedules.VerbFailed: domain.NoticeFailed,
}

// end records how the firing ended, and notifies people.
func (f *firing) end(ctx workflow.Context, outcome schedules.Outcome) (schedules.Outcome, error) {
	outcome.ID = f.id.ID
	outcome.News = f.found.News
	outcome.At = workflow.Now(ctx).UTC()
	f.status.Why = outcome.Why
	f.enter(ctx, StageRuled)
	if kind, ok := noticeKinds[outcome.Verb]; ok {
		if err := f.notify(ctx, kind, outcome.Why); err != nil {
			return outcome, err
		}
	}
	record := on(ctx, QueueControl, "record how the firing ended")
	err := f.act(ctx, func(ctx workflow.Context) error {
		ended := retraining.Ended{Firing: f.id, Outcome: outcome}

		return workflow.ExecuteActivity(record, control.Conclusion, ended).Get(ctx, &outcome)
	})
	if err == nil {
		err = workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
	}

	return outcome, err
}
