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
func scheduleSpec(when retrain.When) client.ScheduleSpec {
	spec := client.ScheduleSpec{
		CronExpressions: append([]string{}, when.Cron...), Jitter: retrain.Duration(when.Jitter),
		TimeZoneName: when.TimeZone,
	}
	if every := retrain.Duration(when.Every); every > 0 {
		spec.Intervals = []client.ScheduleIntervalSpec{{Every: every}}
	}

	return spec
}

// retrainAction starts a firing.
func retrainAction(version schedules.Version) *client.ScheduleWorkflowAction {
	return &client.ScheduleWorkflowAction{
		ID: workflows.RetrainID(version.Schedule.Name), Workflow: workflows.Retrain, TaskQueue: workflows.QueueControl,
		Args:          []any{workflows.RetrainInput{Schedule: version.Schedule.Name, Version: version.Number}},
		StaticSummary: "line " + version.Schedule.Line + ": is there anything new to train on?",
	}
}

// PutSchedule creates a schedule in Temporal, or lets it fire by another version. It may be repeated. Times that are
// impossible are an invalid fault.
func PutSchedule(ctx context.Context, c client.Client, version schedules.Version) error {
	schedule := version.Schedule
	_, err := c.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID: schedule.Name, Spec: scheduleSpec(schedule.When), Action: retrainAction(version),
		Overlap: overlaps[schedule.When.Overlap], CatchupWindow: retrain.Duration(schedule.When.CatchUp),
	})
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		err = updateSchedule(ctx, c, version)
	}
	var wrong *serviceerror.InvalidArgument
	if errors.As(err, &wrong) {
		return fault.New(fault.Invalid, "when: Temporal refuses these times: %w", err)
	}

	return err
}

func updateSchedule(ctx context.Context, c client.Client, version schedules.Version) error {
	spec := scheduleSpec(version.Schedule.When)

	return c.ScheduleClient().GetHandle(ctx, version.Schedule.Name).Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			now := in.Description.Schedule
			now.Spec = &spec
			now.Action = retrainAction(version)
			now.Policy = &client.SchedulePolicies{
				Overlap:       overlaps[version.Schedule.When.Overlap],
				CatchupWindow: retrain.Duration(version.Schedule.When.CatchUp),
			}

			return &client.ScheduleUpdate{Schedule: &now}, nil
		},
	})
}

// ScheduleState is what Temporal knows of a schedule.
type ScheduleState struct {
	Paused  bool        `json:"paused"`
	Note    string      `json:"note,omitempty"`    // why it is paused
	Fired   int         `json:"fired"`             // how often
	Missed  int         `json:"missed"`            // firings that were later than catch_up allows
	Skipped int         `json:"skipped"`           // firings that the overlap policy left out
	Running []string    `json:"running,omitempty"` // ids of workflows
	Next    []time.Time `json:"next,omitempty"`
}

// DescribeSchedule returns the state of a schedule. The error is a serviceerror.NotFound if there is no such schedule.
func DescribeSchedule(ctx context.Context, c client.Client, name string) (ScheduleState, error) {
	described, err := c.ScheduleClient().GetHandle(ctx, name).Describe(ctx)
	if err != nil {
		return ScheduleState{}, err
	}
	state := ScheduleState{
		Fired: described.Info.NumActions, Missed: described.Info.NumActionsMissedCatchupWindow,
		Skipped: described.Info.NumActionsSkippedOverlap, Next: described.Info.NextActionTimes,
	}
	if described.Schedule.State != nil {
		state.Paused = described.Schedule.State.Paused
		state.Note = described.Schedule.State.Note
	}
	for _, execution := range described.Info.RunningWorkflows {
		state.Running = append(state.Running, execution.WorkflowID)
	}

	return state, nil
}
