package workflows

import (
	"fmt"
	"strings"
	"time"

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
	for i, c := range checks {
		octx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			TaskQueue: c.queue, Summary: c.what, ScheduleToStartTimeout: preflightWait,
			StartToCloseTimeout: 10 * time.Minute, HeartbeatTimeout: heartbeatTimeout,
			RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 2},
		})
		open[i] = workflow.ExecuteActivity(octx, c.activity, id)
	}

	out := []preflight.Obstacle{}
	for i, f := range open {
		var found []preflight.Obstacle
		err := f.Get(ctx, &found)
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

// distinct returns obstacles without those that others name, too, and say more of.
func distinct(all []preflight.Obstacle) []preflight.Obstacle {
	out := []preflight.Obstacle{}
	for i, o := range all {
		said := false
		for k, x := range all {
			more := len(x.Why) > len(o.Why) || x.Why == o.Why && k < i
			said = said || more && x.Where == o.Where && strings.Contains(x.Why, o.Why)
		}
		if !said {
			out = append(out, o)
		}
	}

	return out
}
