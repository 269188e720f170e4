package acceptance

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// played is one episode.
type played struct {
	actions []domain.Action
	// seen contains the digest of each transition.
	seen       []string
	replayable bool
}

// play plays an episode by a script. If script is nil, it plays the expert's actions or, without an expert, clicks on
// the elements in turn, and makes further checks.
func (c *check) play(ctx context.Context, script []domain.Action) (played, error) {
	var p played
	env, err := c.suite.Open(ctx)
	if err != nil {
		return p, err
	}
	defer func() {
		env.Close(ctx)
		env.Close(ctx) // Close may be repeated.
	}()

	tr, err := env.Reset(ctx, c.task)
	if err != nil {
		return p, err
	}
	first := script == nil
	if first {
		c.checkFirstScreen(ctx, env, tr)
	}
	can := envadapters.Can(env)
	p.replayable = can.Replayable

	advised := false
	for n := 1; ; n++ {
		p.seen = append(p.seen, c.digest(tr))
		if over(tr) {
			break
		}
		if n > c.task.MaxSteps {
			c.bad("the episode continues after its budget of %d steps", c.task.MaxSteps)
			break
		}

		action, ok := c.next(can.Expert, tr.Observation, n)
		advised = advised || ok
		if !first {
			if n > len(script) {
				break
			}
			action = script[n-1]
		} else if ok {
			c.judged(can.Judge, action, tr.Observation)
		}
		p.actions = append(p.actions, action)
		if tr, err = env.Step(ctx, action); err != nil {
			return p, fmt.Errorf("step %d, %s: %w", n, action.JSON(), err)
		}
		if ok && first && tr.Invalid != "" {
			c.bad("the expert's action %s is invalid: %s", action.JSON(), tr.Invalid)
		}
	}

	score, err := c.end(ctx, env, tr)
	if err == nil && first {
		c.r.Steps = len(p.actions)
		c.graded(score, tr, advised)
	}

	return p, err
}

// next returns the expert's action and true. If the expert advises nothing, it returns a click on one of the elements
// in turn, and false.
func (c *check) next(expert envadapters.Expert, observation domain.Observation, n int) (domain.Action, bool) {
	if expert != nil {
		if action, ok := expert.Advise(); ok {
			return action, true
		}
	}

	var shown []domain.Element
	for _, element := range observation.Elements {
		if element.Shown() && element.ID != domain.NoID {
			shown = append(shown, element)
		}
	}
	if len(shown) == 0 {
		return noop(c.suite.Family()), false
	}

	e := shown[n%len(shown)]
	if c.suite.Family() == domain.FamilyWeb {
		return domain.Action{Family: domain.FamilyWeb, Type: domain.ActionClick, Element: e.ID}, false
	}
	return domain.Action{Type: domain.ActionClick}.At(e.Index), false
}

// checkFirstScreen checks the first screen, disturbs the episode and resets it. The disturbance must have no effect on
// the new episode.
func (c *check) checkFirstScreen(ctx context.Context, env envadapters.Environment, tr envadapters.Transition) {
	c.r.Goal = tr.Goal
	c.r.Elements = len(tr.Observation.Elements)
	if tr.Goal == "" || !utf8.ValidString(tr.Goal) {
		c.bad("goal %q", tr.Goal)
	}
	if over(tr) || tr.Reward != 0 || tr.Invalid != "" {
		c.bad("the episode is over, rewarded or invalid at its reset: %+v", tr)
	}

	can := envadapters.Can(env)
	if can.Screenshotter != nil {
		c.screenshot(ctx, can.Screenshotter)
	}
	var second envadapters.Transition
	var err error
	for _, wrong := range c.wrongActions() {
		c.wrongAction(ctx, env, wrong)
		if second, err = env.Reset(ctx, c.task); err != nil {
			break
		}
	}
	if err != nil || can.Replayable && c.digest(second) != c.digest(tr) {
		c.bad("a reset in the middle of an episode begins another one (%v)", err)
	}
}

func (c *check) screenshot(ctx context.Context, screenshotter envadapters.Screenshotter) {
	png, err := envadapters.Take(ctx, screenshotter)
	if err != nil {
		c.bad("screenshot: %v", err)
	}
	c.r.Screenshot = png
}

// wrongActions returns clicks on an element that does not exist, one per family: a model's answer may use either.
func (c *check) wrongActions() []domain.Action {
	return []domain.Action{
		domain.Action{Type: domain.ActionClick}.At(1 << 30),
		{Family: domain.FamilyWeb, Type: domain.ActionClick, Element: "NO SUCH ELEMENT"},
	}
}

// wrongAction executes an action on an element that does not exist.
func (c *check) wrongAction(ctx context.Context, env envadapters.Environment, wrong domain.Action) {
	recorded := envadapters.ProtocolOf(c.suite) != ""
	tr, err := env.Step(ctx, wrong)
	switch {
	case err != nil:
		c.bad("an action on no element is an error of the environment: %v", err)
	case tr.Invalid == "" && !recorded:
		c.bad("an action on no element is not invalid")
	case tr.Reward != 0:
		c.bad("an action on no element is rewarded")
	}
}

// judged checks that the judge, if not nil, finds the expert's action right.
func (c *check) judged(judge envadapters.Judge, action domain.Action, observation domain.Observation) {
	if judge == nil {
		return
	}

	right := judge.Right()
	same := func(r domain.Action) bool { return r.Canonical(observation) == action.Canonical(observation) }
	if len(right) > 0 && !slices.ContainsFunc(right, same) {
		c.bad("the expert does %s, the judge knows %d other actions", action.JSON(), len(right))
	}
}

// end scores the episode twice and then attempts a step, which must fail.
func (c *check) end(ctx context.Context, env envadapters.Environment, tr envadapters.Transition) (
	envadapters.Score, error,
) {
	score, err := env.Score(ctx)
	if err != nil {
		return score, fmt.Errorf("score: %w", err)
	}
	if second, err := env.Score(ctx); err != nil || second.Success != score.Success || second.Raw != score.Raw {
		c.bad("a second score differs: %+v, %+v, %v", score, second, err)
	}
	if over(tr) {
		if _, err := env.Step(ctx, noop(c.suite.Family())); err == nil {
			c.bad("a step after the episode's end is not an error")
		}
	}

	return score, nil
}

// graded checks the score of the first episode, and reports whether the expert solved the task.
func (c *check) graded(score envadapters.Score, tr envadapters.Transition, advised bool) {
	solved := score.Success && over(tr)
	if advised {
		c.r.Expert = Fails
		if solved {
			c.r.Expert = Solves
		}
	}
	if solved && tr.Reward == 0 {
		c.bad("a success has no reward")
	}
	if envadapters.ProtocolOf(c.suite) != "" && score.Metrics[envadapters.StepSR].N == 0 {
		c.bad("a recorded suite scores no %s", envadapters.StepSR)
	}
}
