package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// check is one task under check.
type check struct {
	suite envadapters.Suite
	task  domain.Task
	r     Report
}

func (c *check) bad(format string, args ...any) {
	if p := fmt.Sprintf(format, args...); !slices.Contains(c.r.Problems, p) {
		c.r.Problems = append(c.r.Problems, p)
	}
}

// Task plays one task in several ways and reports what does not hold. An error means that the environment broke.
func Task(ctx context.Context, s envadapters.Suite, t domain.Task) (Report, error) {
	c := &check{suite: s, task: t, r: Report{Template: t.Template, Split: t.Split, Replay: None, Expert: None}}
	first, err := c.play(ctx, nil)
	if err != nil {
		return c.r, fmt.Errorf("%s, split %s, seed %d: %w", t.Template, t.Split, t.Seed, err)
	}
	if first.replayable {
		again, err := c.play(ctx, first.actions)
		if err != nil {
			return c.r, fmt.Errorf("replay of %s: %w", t.Template, err)
		}
		c.r.Replay = Identical
		if i := differ(first.seen, again.seen); i >= 0 {
			c.r.Replay = Differs
			c.bad("replayed, step %d shows something else", i)
		}
	}
	if err := c.idle(ctx); err != nil {
		return c.r, fmt.Errorf("%s without acting: %w", t.Template, err)
	}
	return c.r, nil
}

func differ(a, b []string) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

// played is one episode.
type played struct {
	actions    []domain.Action
	seen       []string // goal and observation of every transition
	replayable bool
}

// play plays an episode: the given actions, or those of the expert, or those of a monkey.
func (c *check) play(ctx context.Context, script []domain.Action) (played, error) {
	var p played
	env, err := c.suite.Open(ctx)
	if err != nil {
		return p, err
	}
	defer func() { env.Close(ctx); env.Close(ctx) }() // repeatable
	tr, err := env.Reset(ctx, c.task)
	if err != nil {
		return p, err
	}
	if script == nil {
		c.first(ctx, env, tr)
	}
	can := envadapters.Can(env)
	p.replayable = can.Replayable
	advised := false
	for n := 1; ; n++ {
		p.seen = append(p.seen, c.digest(tr))
		if tr.Terminated || tr.Truncated {
			break
		}
		if n > c.task.MaxSteps {
			c.bad("the episode goes on behind its budget of %d steps", c.task.MaxSteps)
			break
		}
		a, ok := c.next(can.Expert, tr.Observation, n)
		advised = advised || ok
		if script != nil {
			if n > len(script) {
				break
			}
			a = script[n-1]
		} else if ok {
			c.judged(env, a, tr.Observation)
		}
		p.actions = append(p.actions, a)
		if tr, err = env.Step(ctx, a); err != nil {
			return p, fmt.Errorf("step %d, %s: %w", n, a.JSON(), err)
		}
		if ok && script == nil && tr.Invalid != "" {
			c.bad("the expert's action %s is invalid: %s", a.JSON(), tr.Invalid)
		}
	}
	return p, c.end(ctx, env, tr, script == nil, len(p.actions), advised)
}

// next is the expert's action, or the monkey's: elements in turn.
func (c *check) next(x envadapters.Expert, o domain.Observation, n int) (domain.Action, bool) {
	if x != nil {
		if a, ok := x.Advise(); ok {
			return a, true
		}
	}
	var shown []domain.Element
	for _, e := range o.Elements {
		if e.Shown() && e.ID != domain.NoID {
			shown = append(shown, e)
		}
	}
	if len(shown) == 0 {
		return c.noop(), false
	}
	e := shown[n%len(shown)]
	if c.suite.Family() == domain.FamilyWeb {
		return domain.Action{Family: domain.FamilyWeb, Type: domain.ActionClick, Element: e.ID}, false
	}
	return domain.Action{Type: domain.ActionClick}.At(e.Index), false
}

func (c *check) noop() domain.Action {
	if c.suite.Family() == domain.FamilyWeb {
		return domain.Action{Family: domain.FamilyWeb, Type: domain.ActionNone}
	}
	return domain.Action{Type: domain.ActionWait}
}

// first looks at the first screen, disturbs the episode and begins it again: nothing of the disturbance may be left.
func (c *check) first(ctx context.Context, env envadapters.Environment, tr envadapters.Transition) {
	c.r.Goal, c.r.Elements = tr.Goal, len(tr.Observation.Elements)
	if tr.Goal == "" || !utf8.ValidString(tr.Goal) {
		c.bad("goal %q", tr.Goal)
	}
	if tr.Terminated || tr.Truncated || tr.Reward != 0 || tr.Invalid != "" {
		c.bad("the episode is over, rewarded or invalid at its reset: %+v", tr)
	}
	can := envadapters.Can(env)
	if s := can.Screenshotter; s != nil {
		png, err := s.Screenshot(ctx)
		if err == nil && !bytes.HasPrefix(png, []byte("\x89PNG\r\n\x1a\n")) {
			err = errors.New("it is no PNG")
		}
		if err != nil {
			c.bad("screenshot: %v", err)
		}
		c.r.Screenshot = png
	}
	recorded := envadapters.ProtocolOf(c.suite) != ""
	wrong := domain.Action{Type: domain.ActionClick}.At(1 << 30)
	if c.suite.Family() == domain.FamilyWeb {
		wrong = domain.Action{Family: domain.FamilyWeb, Type: domain.ActionClick, Element: "NO SUCH ELEMENT"}
	}
	if t, err := env.Step(ctx, wrong); err != nil {
		c.bad("an action on no element is an error of the environment: %v", err)
	} else if t.Invalid == "" && !recorded {
		c.bad("an action on no element is not invalid")
	} else if t.Reward != 0 {
		c.bad("an action on no element is rewarded")
	}
	again, err := env.Reset(ctx, c.task)
	if err != nil || can.Replayable && c.digest(again) != c.digest(tr) {
		c.bad("a reset in the middle of an episode begins another one (%v)", err)
	}
}

// digest checks what a transition shows and gives it as text.
func (c *check) digest(tr envadapters.Transition) string {
	o := tr.Observation
	ids, last := map[string]bool{}, -1
	for _, e := range o.Elements {
		if e.Index <= last {
			c.bad("element %d comes behind element %d", e.Index, last)
		}
		last = e.Index
		if e.ID != "" && e.ID != domain.NoID && ids[e.ID] {
			c.bad("two elements have the ID %q", e.ID)
		}
		ids[e.ID] = true
		if web := c.suite.Family() == domain.FamilyWeb; web != (e.ID != "") {
			c.bad("element %d has ID %q: elements of web suites have one, those of mobile suites have none", e.Index, e.ID)
		}
		if e.Target != nil {
			if _, ok := o.Element(*e.Target); !ok {
				c.bad("element %d names element %d, which is not there, as its target", e.Index, *e.Target)
			}
		}
		if !utf8.ValidString(e.Text + e.Desc + e.Value) {
			c.bad("element %d has text that is no UTF-8", e.Index)
		}
		if e.Bounds[2] < 0 || e.Bounds[3] < 0 {
			c.bad("element %d has bounds %v", e.Index, e.Bounds)
		}
	}
	if tr.Terminated && tr.Truncated {
		c.bad("an episode is both terminated and truncated")
	}
	b, err := json.Marshal(struct {
		Goal        string
		Observation domain.Observation
		Over        bool
		Reward      float64
	}{tr.Goal, o, tr.Terminated || tr.Truncated, tr.Reward})
	if err != nil {
		c.bad("an observation is no JSON: %v", err)
	}
	return string(b)
}

// judged: what the expert does is right for the judge.
func (c *check) judged(env envadapters.Environment, a domain.Action, o domain.Observation) {
	j := envadapters.Can(env).Judge
	if j == nil {
		return
	}
	right := j.Right()
	if len(right) > 0 && !slices.ContainsFunc(right, func(r domain.Action) bool { return r.Canonical(o) == a.Canonical(o) }) {
		c.bad("the expert does %s, the judge knows %d other actions", a.JSON(), len(right))
	}
}

// end looks at what is behind an episode.
func (c *check) end(ctx context.Context, env envadapters.Environment, tr envadapters.Transition, first bool, steps int, advised bool) error {
	score, err := env.Score(ctx)
	if err != nil {
		return fmt.Errorf("score: %w", err)
	}
	if again, err := env.Score(ctx); err != nil || again.Success != score.Success || again.Raw != score.Raw {
		c.bad("a second score differs: %+v, %+v, %v", score, again, err)
	}
	over := tr.Terminated || tr.Truncated
	if over {
		if _, err := env.Step(ctx, c.noop()); err == nil {
			c.bad("a step behind the episode's end is no error")
		}
	}
	if !first {
		return nil
	}
	c.r.Steps = steps
	if advised {
		c.r.Expert = Fails
		if score.Success && over {
			c.r.Expert = Solves
		}
	}
	if score.Success && over && tr.Reward == 0 {
		c.bad("a success has no reward")
	}
	if envadapters.ProtocolOf(c.suite) != "" && score.Metrics[envadapters.StepSR].N == 0 {
		c.bad("a recorded suite scores no %s", envadapters.StepSR)
	}
	return nil
}

// idle: an episode without an action ends at its budget and fails; a cancelled call comes back.
func (c *check) idle(ctx context.Context) error {
	env, err := c.suite.Open(ctx)
	if err != nil {
		return err
	}
	defer env.Close(ctx)
	tr, err := env.Reset(ctx, c.task)
	n := 0
	for ; err == nil && !tr.Terminated && !tr.Truncated && n <= c.task.MaxSteps; n++ {
		tr, err = env.Step(ctx, c.noop())
	}
	if err != nil {
		return err
	}
	if n > c.task.MaxSteps {
		c.bad("an idle episode does not end at its budget of %d steps", c.task.MaxSteps)
	}
	if s, err := env.Score(ctx); err != nil || s.Success {
		c.bad("an idle episode has score %+v, %v", s, err)
	}
	return nil
}
