package workers

import (
	"context"
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/retrain"
	"github.com/collabui/collabui/internal/records/schedules"
	"github.com/collabui/collabui/workflows"
)

// overlaps are Temporal's names of what becomes of a firing while the one before runs.
var overlaps = map[retrain.Overlap]enums.ScheduleOverlapPolicy{
	retrain.OverlapSkip:      enums.SCHEDULE_OVERLAP_POLICY_SKIP,
	retrain.OverlapBufferOne: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE,
	retrain.OverlapBufferAll: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL,
}

// scheduleSpec returns the times of a schedule for Temporal.
func scheduleSpec(w retrain.When) client.ScheduleSpec {
	s := client.ScheduleSpec{
		CronExpressions: append([]string{}, w.Cron...), Jitter: retrain.Duration(w.Jitter), TimeZoneName: w.TimeZone,
	}
	if every := retrain.Duration(w.Every); every > 0 {
		s.Intervals = []client.ScheduleIntervalSpec{{Every: every}}
	}

	return s
}

// retrainAction starts a firing.
func retrainAction(v schedules.Version) *client.ScheduleWorkflowAction {
	return &client.ScheduleWorkflowAction{
		ID: workflows.RetrainID(v.Schedule.Name), Workflow: workflows.Retrain, TaskQueue: workflows.QueueControl,
		Args:          []any{workflows.RetrainInput{Schedule: v.Schedule.Name, Version: v.Number}},
		StaticSummary: "line " + v.Schedule.Line + ": is there anything new to train on?",
	}
}

// PutSchedule creates a schedule in Temporal, or lets it fire by another version. It may be repeated. Times that are
// impossible are an invalid fault.
func PutSchedule(ctx context.Context, c client.Client, v schedules.Version) error {
	s := v.Schedule
	_, err := c.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID: s.Name, Spec: scheduleSpec(s.When), Action: retrainAction(v),
		Overlap: overlaps[s.When.Overlap], CatchupWindow: retrain.Duration(s.When.CatchUp),
	})
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		err = updateSchedule(ctx, c, v)
	}
	var wrong *serviceerror.InvalidArgument
	if errors.As(err, &wrong) {
		return fault.New(fault.Invalid, "when: Temporal refuses these times: %w", err)
	}

	return err
}

func updateSchedule(ctx context.Context, c client.Client, v schedules.Version) error {
	spec := scheduleSpec(v.Schedule.When)

	return c.ScheduleClient().GetHandle(ctx, v.Schedule.Name).Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			now := in.Description.Schedule
			now.Spec, now.Action = &spec, retrainAction(v)
			now.Policy = &client.SchedulePolicies{
				Overlap: overlaps[v.Schedule.When.Overlap], CatchupWindow: retrain.Duration(v.Schedule.When.CatchUp),
			}

			return &client.ScheduleUpdate{Schedule: &now}, nil
		},
	})
}

// ScheduleState is what Temporal says of a schedule.
type ScheduleState struct {
	Paused  bool        `json:"paused"`
	Note    string      `json:"note,omitempty"`    // why it is paused
	Fired   int         `json:"fired"`             // how often
	Missed  int         `json:"missed"`            // firings that were later than catch_up allows
	Skipped int         `json:"skipped"`           // firings that the overlap policy left out
	Running []string    `json:"running,omitempty"` // ids of workflows
	Next    []time.Time `json:"next,omitempty"`
}

// DescribeSchedule asks Temporal for the state of a schedule. The error is a serviceerror.NotFound if there is none.
func DescribeSchedule(ctx context.Context, c client.Client, name string) (ScheduleState, error) {
	d, err := c.ScheduleClient().GetHandle(ctx, name).Describe(ctx)
	if err != nil {
		return ScheduleState{}, err
	}
	s := ScheduleState{
		Fired: d.Info.NumActions, Missed: d.Info.NumActionsMissedCatchupWindow,
		Skipped: d.Info.NumActionsSkippedOverlap, Next: d.Info.NextActionTimes,
	}
	if d.Schedule.State != nil {
		s.Paused, s.Note = d.Schedule.State.Paused, d.Schedule.State.Note
	}
	for _, w := range d.Info.RunningWorkflows {
		s.Running = append(s.Running, w.WorkflowID)
	}

	return s, nil
}
