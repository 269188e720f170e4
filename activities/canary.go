package activities

import (
	"context"

	"go.temporal.io/sdk/activity"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
)

// buildTries is the number of tries in which Temporal must have learned that workers of a build serve a task queue.
// Until then, it gives the activities of a workflow that is pinned to the build to the workers of another one.
const buildTries = 6

// isBuild returns a fault if this worker is of another build than the one that is checked: what it shows would be taken
// for evidence of that build. The fault is transient while Temporal may still learn of the build's workers, and then
// invalid.
func (c *Common) isBuild(ctx context.Context, build string) error {
	if build == "" || build == c.Build {
		return nil
	}
	kind := fault.Transient
	info := activity.GetInfo(ctx)
	if info.Attempt >= buildTries {
		kind = fault.Invalid
	}

	return fault.New(kind, "queue %s is served by build %q and not by %q: start workers of %q with this role",
		info.TaskQueue, c.Build, build, build)
}

// Replay replays recorded histories with the workflows of a build, and returns their number; "" is the build of any
// worker. A history that does not replay is an invalid fault. It may be repeated.
func (c *Control) Replay(ctx context.Context, build string) (int, error) {
	return do(ctx, c.log(""), func(ctx context.Context, say say) (int, error) {
		if err := c.isBuild(ctx, build); err != nil {
			return 0, err
		}
		if c.Histories == nil {
			return 0, fault.New(fault.Invalid, "this worker cannot read histories")
		}

		return c.Histories(ctx, say)
	})
}

// CanaryPlay is an episode that was played for a check.
type CanaryPlay struct {
	Task    string
	Steps   int
	Success bool
}

// PlayCanary plays the first task of an evaluation by a worker of a build, as Replay does, and records no episode;
// answers of chat endpoints, and screenshots that the run keeps, stay as after any call. It may be repeated. A task
// that cannot be played is an invalid fault; whether the agents succeed does not matter.
func (r *Rollouts) PlayCanary(ctx context.Context, item rules.EvalItem, build string) (CanaryPlay, error) {
	log := r.log(item.Run, "system", item.System.Name)

	return do(ctx, log, func(ctx context.Context, say say) (CanaryPlay, error) {
		if err := r.isBuild(ctx, build); err != nil {
			return CanaryPlay{}, err
		}
		s, err := r.played(ctx, item)
		if err != nil {
			return CanaryPlay{}, err
		}
		suite, err := r.Suites.get(ctx, item.Where(s))
		if err != nil {
			return CanaryPlay{}, err
		}
		task, err := taskOf(s, suite, item, nil, 0)
		if err != nil {
			return CanaryPlay{}, err
		}
		e, err := r.evaluate(ctx, s, suite, item, task, 0, say)
		if err == nil && e.Outcome.Void != "" {
			err = fault.New(fault.Invalid, "task %s cannot be played: %s", task.Template, e.Outcome.Void)
		}

		return CanaryPlay{Task: task.Template, Steps: e.Outcome.Steps, Success: e.Outcome.Success}, err
	})
}
