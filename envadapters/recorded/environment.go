package recorded

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// Pose is what an agent is asked at one step.
type Pose struct {
	Observation domain.Observation
	History     []string        // as recorded; an empty one is not nil
	Right       []domain.Action // all that are right; the first is the recorded one
}

// Episode is a recorded task under way. It is a function of task and seed.
type Episode interface {
	Goal() string
	// Pose is the present one; ok is false behind the last.
	Pose() (p Pose, ok bool)
	// Do takes what the agent did. The metrics are those of a recorded step that is over with it, StepSR among them; nil while it is not.
	Do(a domain.Action) map[string]domain.Metric
}

// Environment plays episodes that open gives; it may be used as an envadapters.Environment by suites of recorded tasks. Everything is in memory, so calls do not break.
type Environment struct {
	open    func(domain.Task) (Episode, error)
	task    domain.Task
	episode Episode
	pose    Pose
	steps   int
	ended   bool
	score   envadapters.Score
}

// NewEnvironment plays what open gives. An error of it is the task's fault.
func NewEnvironment(open func(domain.Task) (Episode, error)) *Environment {
	return &Environment{open: open}
}

// Replayable: recorded tasks are.
func (e *Environment) Replayable() {}

// Reset opens the task.
func (e *Environment) Reset(ctx context.Context, t domain.Task) (envadapters.Transition, error) {
	if ctx.Err() != nil {
		return envadapters.Transition{}, context.Cause(ctx)
	}
	ep, err := e.open(t)
	if err != nil {
		return envadapters.Transition{}, fault.New(fault.KindOf(err), "%w: %w", envadapters.ErrTask, err)
	}
	e.task, e.episode, e.steps, e.ended, e.score = t, ep, 0, false, envadapters.Score{Metrics: map[string]domain.Metric{}}
	tr := e.show()
	tr.Goal = ep.Goal()
	return tr, nil
}

// show goes to the present pose; behind the last one the episode has ended.
func (e *Environment) show() envadapters.Transition {
	p, ok := e.episode.Pose()
	e.pose, e.ended = p, !ok
	if p.History == nil {
		p.History = []string{}
	}
	return envadapters.Transition{Observation: p.Observation, History: p.History, Terminated: !ok}
}

// Step scores the action; the recorded next page follows.
func (e *Environment) Step(ctx context.Context, a domain.Action) (envadapters.Transition, error) {
	if e.episode == nil || e.ended {
		return envadapters.Transition{}, fault.New(fault.Fatal, "step outside of an episode")
	}
	if ctx.Err() != nil {
		return envadapters.Transition{}, context.Cause(ctx)
	}
	e.steps++
	for name, m := range e.episode.Do(a) {
		was := e.score.Metrics[name]
		e.score.Metrics[name] = domain.Metric{Sum: was.Sum + m.Sum, N: was.N + m.N}
	}
	tr := e.show()
	if !e.ended && e.steps >= e.task.MaxSteps {
		tr.Truncated, e.ended = true, true
	}
	if sr := e.score.Metrics[envadapters.StepSR]; e.ended && sr.N > 0 {
		e.score.Raw = sr.Sum / float64(sr.N)
		e.score.Success = tr.Terminated && sr.Sum == float64(sr.N)
	}
	if e.score.Success {
		tr.Reward = 1
	}
	return tr, nil
}

// Score has the sums of all metrics; a task is a success where every step is right.
func (e *Environment) Score(context.Context) (envadapters.Score, error) { return e.score, nil }

// Right are the right actions of the present step.
func (e *Environment) Right() []domain.Action { return e.pose.Right }

// Advise gives the recorded action.
func (e *Environment) Advise() (domain.Action, bool) {
	if len(e.pose.Right) == 0 {
		return domain.Action{}, false
	}
	return e.pose.Right[0], true
}

// Close does nothing.
func (e *Environment) Close(context.Context) {}
