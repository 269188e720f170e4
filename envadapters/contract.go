// Package envadapters is the contract between the system and its environments, which are foreign, long-running and breakable. Adapters stand in the
// packages below it. It knows only domain; adapters must not know activities, workflows or stores.
package envadapters

import (
	"context"
	"errors"

	"github.com/collabui/collabui/domain"
)

// Suite is a family of tasks with a way to open environments for them. Its methods may be called at once from many goroutines and repeated.
type Suite interface {
	Name() string
	Family() domain.Family
	// Templates lists the task templates of a split, sorted; test-templates share none with the other splits.
	Templates(split string) ([]Template, error)
	// Open gives an environment for one episode at a time; it waits for a free place.
	Open(ctx context.Context) (Environment, error)
	// Check says whether the suite can be used here, and what to do where it cannot.
	Check(ctx context.Context) Health
	// Close frees what the suite holds.
	Close() error
}

// Template is one task template.
type Template struct {
	Name     string
	Group    string // a family inside the suite, for tables
	MaxSteps int
}

// Level is a suite's state.
type Level string

// The levels of health.
const (
	Ready    Level = "ready"
	Busy     Level = "busy"
	Degraded Level = "degraded"
	Dead     Level = "dead"
)

// Health is the answer of Check.
type Health struct {
	Level  Level
	Detail string // what was seen
	Fix    string // what to do, where something is to be done
}

// ErrTask is in the chain of an error of Reset or Step that the task itself is at fault for: a replacement can help, another environment cannot.
var ErrTask = errors.New("the task is at fault")

// Environment plays one episode at a time. Every error means that the episode is void: nothing about its state is known any more, and the
// environment must be closed. A mistake of the agent is no error: see Transition.Invalid.
type Environment interface {
	// Reset begins the task's episode; it may follow an episode that did not end.
	Reset(ctx context.Context, t domain.Task) (Transition, error)
	// Step executes one action. Not repeatable.
	Step(ctx context.Context, a domain.Action) (Transition, error)
	// Score grades the episode as it stands; repeatable.
	Score(ctx context.Context) (Score, error)
	// Close always tears down, whatever happened before; repeatable.
	Close(ctx context.Context)
}

// Transition is what Reset and Step lead to.
type Transition struct {
	Goal        string // filled by Reset
	Observation domain.Observation
	Reward      float64 // of the environment: 0 until the end, then 0 or 1
	Terminated  bool    // the task ended
	Truncated   bool    // the step budget ended it
	Invalid     string  // the agent's fault: why nothing was executed; the step counts
}

// Score is the end of an episode.
type Score struct {
	Success bool
	Raw     float64 // the environment's own figure, kept as information
}

// Expert is an optional capability: it knows an action that helps, for demonstrations.
type Expert interface {
	// Advise gives an action that helps at the current state; ok is false where it knows none. Called after Reset or Step.
	Advise() (a domain.Action, ok bool)
}

// Judge is an optional capability: it knows the solution. Labels made with it are called "oracle (privileged)".
type Judge interface {
	// Right lists every action that helps at the current state; empty means that the judge cannot tell. Called after Reset or Step.
	Right() []domain.Action
}

// Screenshotter is an optional capability: the current screen as PNG.
type Screenshotter interface {
	Screenshot(ctx context.Context) ([]byte, error)
}

// Replayable marks environments whose observations are a function of the task and the actions, so that an episode can be resumed by replay. Of others a
// broken attempt is void, and the next one begins anew.
type Replayable interface{ Replayable() }
