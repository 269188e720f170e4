package recorded

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// Pose is the question to the agents at one step.
type Pose struct {
	Observation domain.Observation
	// History is the recorded history.
	History []string
	// Right contains all right actions. The first is the recorded one.
	Right []domain.Action
}

// Episode is a recorded task that is being played. It is a function of the task and its seed.
type Episode interface {
	// Goal returns the recorded goal.
	Goal() string
	// Pose returns the current pose. ok is false after the last one.
	Pose() (p Pose, ok bool)
	// Do executes the action of the agents. If the action ends a recorded step, Do returns the metrics of the step,
	// including envadapters.StepSR; if the step continues, it returns nil.
	Do(a domain.Action) map[string]domain.Metric
}

// Environment plays episodes in memory, so it never breaks. It implements envadapters.Environment for suites of
// recorded tasks.
type Environment struct {
	open    func(domain.Task) (Episode, error)
	task    domain.Task
	episode Episode
	pose    Pose
	steps   int
	ended   bool
	score   envadapters.Score
}

// NewEnvironment returns an environment for the episodes that open returns. An error of open is the fault of the task.
func NewEnvironment(open func(domain.Task) (Episode, error)) *Environment {
	return &Environment{open: open}
}

// Replayable marks the environment as replayable.
func (e *Environment) Replayable() {}

// Reset opens the task.
func (e *Environment) Reset(ctx context.Context, task domain.Task) (envadapters.Transition, error) {
	if ctx.Err() != nil {
		return envadapters.Transition{}, context.Cause(ctx)
	}
	episode, err := e.open(task)
	if err != nil {
		return envadapters.Transition{}, fault.New(fault.KindOf(err), "%w: %w", envadapters.ErrTask, err)
	}

	e.task = task
	e.episode = episode
	e.steps = 0
	e.ended = false
	e.score = envadapters.Score{Metrics: map[string]domain.Metric{}}
	tr := e.show()
	tr.Goal = episode.Goal()

	return tr, nil
}

// show moves to the current pose. The episode ends after the last one.
func (e *Environment) show() envadapters.Transition {
	pose, ok := e.episode.Pose()
	e.pose = pose
	e.ended = !ok
	if pose.History == nil {
		pose.History = []string{} // nil would stand for the system's own history
	}

	return envadapters.Transition{Observation: pose.Observation, History: pose.History, Terminated: !ok}
}

// Step scores the action and shows the recorded next page.
func (e *Environment) Step(ctx context.Context, action domain.Action) (envadapters.Transition, error) {
	if e.episode == nil || e.ended {
		return envadapters.Transition{}, fault.New(fault.Fatal, "step outside of an episode")
	}
	if ctx.Err() != nil {
		return envadapters.Transition{}, context.Cause(ctx)
	}

	e.steps++
	for name, metric := range e.episode.Do(action) {
		sum := e.score.Metrics[name]
		e.score.Metrics[name] = domain.Metric{Sum: sum.Sum + metric.Sum, N: sum.N + metric.N}
	}

	tr := e.show()
	if !e.ended && e.steps >= e.task.MaxSteps {
		tr.Truncated = true
		e.ended = true
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

// Score returns the sums of all metrics. An episode is a success if all its steps are right.
func (e *Environment) Score(context.Context) (envadapters.Score, error) { return e.score, nil }

// Right returns the right actions of the current step.
func (e *Environment) Right() []domain.Action { return e.pose.Right }

// Advise returns the recorded action.
func (e *Environment) Advise() (domain.Action, bool) {
	if len(e.pose.Right) == 0 {
		return domain.Action{}, false
	}
	return e.pose.Right[0], true
}

// Close does nothing.
func (e *Environment) Close(context.Context) {}
