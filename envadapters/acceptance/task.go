package acceptance

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// The values of Report.Replay and Report.Expert.
const (
	Identical = "identical"
	Differs   = "differs"
	Solves    = "solves"
	Fails     = "fails"
	None      = "none"
)

// Report contains the findings of Task.
type Report struct {
	Template string `json:"template"`
	Split    string `json:"split"`
	Goal     string `json:"goal"`
	// Elements is the number of elements of the first observation.
	Elements int `json:"elements"`
	// Steps is the number of steps of the first episode.
	Steps int `json:"steps"`
	// Replay is Identical or Differs, or None if the environment is not replayable.
	Replay string `json:"replay"`
	// Expert is Solves or Fails, or None if the environment has no expert.
	Expert   string   `json:"expert"`
	Problems []string `json:"problems,omitempty"`
	// Screenshot is the screenshot of the first observation as PNG, or nil if the environment takes no screenshots.
	Screenshot []byte `json:"-"`
}

// check is the state of the check of one task.
type check struct {
	problems
	suite envadapters.Suite
	task  domain.Task
	r     Report
}

// Task plays one task in several ways and reports violations of the contract. It returns an error if the environment
// breaks.
func Task(ctx context.Context, suite envadapters.Suite, task domain.Task) (Report, error) {
	c := &check{
		suite: suite,
		task:  task,
		r:     Report{Template: task.Template, Split: task.Split, Replay: None, Expert: None},
	}
	err := c.run(ctx)
	c.r.Problems = c.problems

	return c.r, err
}

func (c *check) run(ctx context.Context) error {
	task := c.task
	first, err := c.play(ctx, nil)
	if err != nil {
		return fmt.Errorf("%s, split %s, seed %d: %w", task.Template, task.Split, task.Seed, err)
	}

	if first.replayable {
		second, err := c.play(ctx, first.actions)
		if err != nil {
			return fmt.Errorf("replay of %s: %w", task.Template, err)
		}
		c.r.Replay = Identical
		if i := firstDifference(first.seen, second.seen); i >= 0 {
			c.r.Replay = Differs
			c.bad("replayed, step %d shows something else", i)
		}
	}

	if err := c.idle(ctx); err != nil {
		return fmt.Errorf("%s without acting: %w", task.Template, err)
	}

	return nil
}

// firstDifference returns the first index at which a and b differ, or -1.
func firstDifference(a, b []string) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

// idle plays an episode of no-ops, which must end at its step budget and must not succeed.
func (c *check) idle(ctx context.Context) error {
	env, err := c.suite.Open(ctx)
	if err != nil {
		return err
	}
	defer env.Close(ctx)

	tr, err := env.Reset(ctx, c.task)
	n := 0
	for ; err == nil && !over(tr) && n <= c.task.MaxSteps; n++ {
		tr, err = env.Step(ctx, noop(c.suite.Family()))
	}
	if err != nil {
		return err
	}
	if n > c.task.MaxSteps {
		c.bad("an idle episode does not end at its budget of %d steps", c.task.MaxSteps)
	}
	if score, err := env.Score(ctx); err != nil || score.Success {
		c.bad("an idle episode has score %+v, %v", score, err)
	}

	return nil
}

func over(tr envadapters.Transition) bool { return tr.Terminated || tr.Truncated }
