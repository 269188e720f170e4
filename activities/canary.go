package activities

import (
	"context"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
)

// Replay replays recorded histories with the workflows of this build, and returns their number. A history that does not
// replay is an invalid fault. It may be repeated.
func (c *Control) Replay(ctx context.Context) (int, error) {
	return do(ctx, c.log(""), func(ctx context.Context, say say) (int, error) {
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

// PlayCanary plays the first task of an evaluation and records no episode; answers of chat endpoints, and screenshots
// that the run keeps, stay as after any call. It may be repeated. A task that cannot be played is an invalid fault;
// whether the agents succeed does not matter.
func (r *Rollouts) PlayCanary(ctx context.Context, item rules.EvalItem) (CanaryPlay, error) {
	return do(ctx, r.log(item.Run, "system", item.System.Name), func(ctx context.Context, say say) (CanaryPlay, error) {
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
