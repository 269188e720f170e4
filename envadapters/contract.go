// Package envadapters is the contract between the system and its environments, which are foreign programs, run for a
// long time and may break at any moment. The adapters are the packages below it.
//
// An adapter classifies a failure by the kind of its error (see package fault):
//
//   - fault.Invalid: options, files or a task are wrong. The run pauses until a person resumes it.
//   - fault.Transient: a service does not answer. The activity is retried. Errors without a kind are Transient, and so
//     are context errors, which adapters return as context.Cause(ctx).
//   - fault.Void: the environment broke in the middle of an episode. The episode is played again in a new environment
//     and never scored. An adapter returns it for every failure that a new environment may cure.
//   - fault.Corrupt: a file has changed since it was read. The run pauses until a person resumes it.
//   - fault.Fatal: the system broke this contract, for example by calling Step after the end of an episode. The run
//     pauses until a person resumes it.
//   - ErrTask in the chain, with any kind: the task itself is at fault. A rollout replaces the task by another one, and
//     an evaluation reports it as missing.
//
// A mistake of an agent is not an error but Transition.Invalid.
//
// It does no I/O.
package envadapters

import (
	"context"
	"errors"

	"github.com/collabui/collabui/domain"
)

// Suite is a family of tasks and opens environments for them. Its methods may be called concurrently and repeatedly.
type Suite interface {
	// Name returns the adapter's name, as specifications use it.
	Name() string

	// Title returns the name in results. Results under different titles are never compared, so the title includes
	// everything that makes results incomparable, such as the page set, the semantics or the protocol.
	Title() string

	// Family returns the action family of the environments.
	Family() domain.Family

	// Splits returns the names of the splits. A suite for training has all of domain.Splits and may also have
	// domain.SplitTestApps.
	Splits() []string

	// Templates returns the task templates of a split, sorted by name. The splits test-templates and test-apps share no
	// template with train or with each other. An unknown split is fault.Invalid, and files that cannot be read are
	// fault.Invalid or fault.Transient.
	Templates(split string) ([]Template, error)

	// Open returns an environment for one episode at a time. It waits for a free place until ctx ends. It returns
	// fault.Void or fault.Transient if no environment can be started now, so that the activity is retried, and
	// fault.Invalid if no environment can ever be started.
	Open(ctx context.Context) (Environment, error)

	// Check reports whether the suite can be used on this host, and what to do if not.
	Check(ctx context.Context) Health

	// Close releases the resources of the suite. Its error is ignored.
	Close() error
}

// Template is one task template or, in a suite of recorded tasks, one recorded task.
type Template struct {
	Name string
	// Group is the name under which tables summarise several templates of the suite.
	Group    string
	MaxSteps int
}

// Metered is an optional capability of suites: Figures describes the health of the resources that the suite manages, as
// a value that encodes to JSON.
type Metered interface{ Figures() any }

// Versioned is an optional capability of suites: they know the version of their tasks or pages. Results of different
// versions are never mixed.
type Versioned interface {
	// Version returns a digest of the data or pages, or the version of a server. Its errors have the same kinds as
	// those of Templates.
	Version(ctx context.Context) (string, error)
}

// Browsing is an optional capability of suites: a browser of this machine draws their pages. Observations are equal
// only under the same browser.
type Browsing interface {
	// Browser returns the name and version that the program reports.
	Browser(ctx context.Context) (string, error)
}

// Recorded marks suites of recorded tasks, which are teacher-forced: the recorded next page follows regardless of the
// agents' actions. Their rate is StepSR, never a success rate.
type Recorded interface {
	// Protocol describes how a step is posed and scored. Every row of results shows it. It is empty if the suite turns
	// out not to be recorded.
	Protocol() string
}

// ProtocolOf returns the protocol of a suite of recorded tasks. It is empty for other suites.
func ProtocolOf(suite Suite) string {
	if recorded, ok := suite.(Recorded); ok {
		return recorded.Protocol()
	}
	return ""
}

// Rehearsed is an optional capability of suites that translate actions by the rules of a specification.
type Rehearsed interface {
	// Rehearse translates one sample action of every type without sending it. The error names all types that fail.
	Rehearse() error
}

// ErrTask is in the chain of an error of Reset or Step if the task itself is at fault. Playing another task may help;
// opening another environment will not.
var ErrTask = errors.New("the task is at fault")

// Environment plays one episode at a time. After any error of Reset, Step or Score, the state of the episode is unknown
// and the environment must be closed.
type Environment interface {
	// Reset begins an episode of the task. It may follow an episode that did not end. It returns fault.Void if the
	// environment broke, fault.Transient if a service does not answer, and ErrTask if the task is unknown or cannot be
	// set up anywhere. It returns within seconds if ctx has ended.
	Reset(ctx context.Context, t domain.Task) (Transition, error)

	// Step executes one action. It must not be repeated, because the action may already have been executed. It returns
	// fault.Void if the environment broke or its answer is lost, ErrTask if the task broke it, and fault.Fatal before
	// an episode or after its end. It returns within seconds if ctx has ended.
	Step(ctx context.Context, a domain.Action) (Transition, error)

	// Score grades the current state of the episode. It may be repeated, and then returns an equal result. It returns
	// fault.Void if the environment broke.
	Score(ctx context.Context) (Score, error)

	// Close tears the environment down in every state that it may be in. It may be repeated.
	Close(ctx context.Context)
}

// Transition is the state after Reset or Step.
type Transition struct {
	// Goal is set by Reset only.
	Goal        string
	Observation domain.Observation
	// Reward is 0 until the end of the episode, and then 0 or 1.
	Reward float64
	// Terminated is true if the task ended the episode.
	Terminated bool
	// Truncated is true if the step budget ended the episode.
	Truncated bool
	// Invalid is the reason why nothing was executed because of a mistake of the agents, or empty. The step counts all
	// the same.
	Invalid string
	// Touch is where the action of Step touched the screen before the step. It is a function of that screen and the
	// action. It is nil if the action needs no place, or if the environment does not know it.
	Touch *domain.Touch
	// History, if not nil, is the recorded history before the observation. It replaces the history that the system
	// keeps.
	History []string
}

// Score is the grade of an episode.
type Score struct {
	Success bool
	// Raw is the environment's own grade, kept for information.
	Raw float64
	// Metrics are further figures by name. Suites of recorded tasks include StepSR.
	Metrics map[string]domain.Metric
}

// StepSR is the metric by which suites of recorded tasks are compared: the share of steps that are entirely right.
const StepSR = "step_sr"
