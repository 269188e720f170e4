package workflows

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities/preflight"
)

// preflightWait is how long a check waits for a worker that has no time for it.
const preflightWait = 5 * time.Second

// Preflight checks, on the workers that would do the work, whether specifications can be run to their end. It records
// nothing, and may be repeated.
func Preflight(ctx workflow.Context, id preflight.ID) ([]preflight.Obstacle, error) {
	checks := []struct {
		queue    string
		activity any
		what     string
	}{
		{QueueCare, control.CheckPlan, "lists of tasks and prompts"},
		{QueueRollout, rollouts.CheckPlay, "begin a task"},
		{QueueModel, models.CheckModels, "keys and answers of models"},
		{QueueGPU, gpu.CheckTraining, "trainer, base model and policy servers"},
	}
	open := make([]workflow.Future, len(checks))
	for i, check := range checks {
		octx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			TaskQueue: check.queue, Summary: check.what, ScheduleToStartTimeout: preflightWait,
			StartToCloseTimeout: 10 * time.Minute, HeartbeatTimeout: heartbeatTimeout,
			RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 2},
		})
		open[i] = workflow.ExecuteActivity(octx, check.activity, id)
	}

	out := []preflight.Obstacle{}
	for i, answer := range open {
		var found []preflight.Obstacle
		err := answer.Get(ctx, &found)
		switch {
		case waitedLong(err):
			found = []preflight.Obstacle{{
				Where: "workers", Warning: true,
				Why: fmt.Sprintf("no worker of the role %s had time to check: %s",
					RoleOf(checks[i].queue), checks[i].what),
			}}
		case err != nil:
			return nil, err
		}
		out = append(out, found...)
	}

	return distinct(out), nil
}

// waitedLong reports whether an activity failed only because no worker took it in time.
func waitedLong(err error) bool {
	var late *temporal.TimeoutError

	return errors.As(err, &late) && late.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START
}

// distinct returns obstacles without those that others name, too, and say more of.
func distinct(all []preflight.Obstacle) []preflight.Obstacle {
	out := []preflight.Obstacle{}
	for i, obstacle := range all {
		said := false
		for k, other := range all {
			more := len(other.Why) > len(obstacle.Why) || other.Why == obstacle.Why && k < i
			said = said || more && other.Where == obstacle.Where && strings.Contains(other.Why, obstacle.Why)
		}
		if !said {
			out = append(out, obstacle)
		}
	}

	return out
}
