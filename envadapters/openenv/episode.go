package openenv

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// Episode is the part of an environment behind a server that does not depend on the server: the task, the steps and the
// end. The zero value is the state before the first episode.
type Episode struct {
	Task    domain.Task
	steps   int
	playing bool
	ended   bool
}

// Begin prepares the episode of a task. Steps are refused until Start.
func (e *Episode) Begin(task domain.Task) { *e = Episode{Task: task} }

// Start permits steps after a successful reset.
func (e *Episode) Start() { e.playing = true }

// Stop refuses all further steps, because the episode is void.
func (e *Episode) Stop() { e.playing = false }

// BeginStep counts a step. It fails outside of an episode and after ctx has ended.
func (e *Episode) BeginStep(ctx context.Context) error {
	if !e.playing || e.ended {
		return fault.New(fault.Fatal, "step outside of an episode")
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}

	e.steps++

	return nil
}

// Observe completes a transition. done reports whether the server ended the episode, and truncated whether it did so
// because of the step budget. If not done, the budget of the task may end the episode here. Observe reports whether the
// episode is over.
func (e *Episode) Observe(tr *envadapters.Transition, done, truncated bool) bool {
	tr.Truncated = truncated || !done && e.steps >= e.Task.MaxSteps
	tr.Terminated = done && !tr.Truncated
	e.ended = tr.Terminated || tr.Truncated

	return e.ended
}
