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
	// Name is the adapter's, as specifications name it.
	Name() string
	// Title is what results say: it tells apart what must not be compared, such as other page sets, semantics or protocols.
	Title() string
	Family() domain.Family
	// Splits lists the splits. A suite that can be trained on has domain.Splits among them.
	Splits() []string
	// Templates lists the task templates of a split, sorted; test-templates share none with the other splits.
	Templates(split string) ([]Template, error)
	// Open gives an environment for one episode at a time; it waits for a free place.
	Open(ctx context.Context) (Environment, error)
	// Check says whether the suite can be used here, and what to do where it cannot.
	Check(ctx context.Context) Health
	// Close frees what the suite holds.
	Close() error
}

// Metered is an optional capability of suites: figures of what they keep in good health, as plain JSON.
type Metered interface{ Figures() any }

// Template is one task template; in a recorded suite, one recorded task.
type Template struct {
	Name     string
	Group    string // a family inside the suite, for tables
	MaxSteps int
}

// Options configure a suite; which ones an adapter takes stands in its Entry. They are part of a run's specification, so they hold no secrets.
type Options struct {
	Suite     string   `json:"suite,omitempty" yaml:"suite"`         // the adapter; default: the name under which the options stand
	Data      string   `json:"data,omitempty" yaml:"data"`           // a folder or file, on every host that plays episodes
	Servers   []string `json:"servers,omitempty" yaml:"servers"`     // addresses, ws:// or wss://
	Semantics string   `json:"semantics,omitempty" yaml:"semantics"` // miniwob: standard | mobile
	Protocol  string   `json:"protocol,omitempty" yaml:"protocol"`   // mind2web: official | list
	Broken    string   `json:"broken,omitempty" yaml:"broken"`       // a record that cannot be read: skip | stop
	Places    int      `json:"places,omitempty" yaml:"places"`       // episodes at once, of one worker
	Spare     int      `json:"spare,omitempty" yaml:"spare"`         // servers that stand by
	Without   []string `json:"without,omitempty" yaml:"without"`     // templates that are left out of all splits
	MaxSteps  int      `json:"max_steps,omitempty" yaml:"max_steps"` // where the environment names none
	Mapping   Mapping  `json:"mapping,omitzero" yaml:"mapping"`      // of a foreign server's messages
}

// Mapping says where a foreign server's messages hold what an observation needs, and what an action looks like there. Paths are dotted, from the observation: "obs.goal",
// "elements.0.text". Empty: the profile collabui/1 (docs/add-an-environment.md).
type Mapping struct {
	Goal     string            `json:"goal,omitempty" yaml:"goal"`
	Text     string            `json:"text,omitempty" yaml:"text"`         // lines of text that become elements
	Line     string            `json:"line,omitempty" yaml:"line"`         // regular expression over a line of text, with groups id, role, text, value
	Elements string            `json:"elements,omitempty" yaml:"elements"` // a list of objects
	Fields   map[string]string `json:"fields,omitempty" yaml:"fields"`     // of such an object: id, role, text, desc, value, editable → its key
	Score    string            `json:"score,omitempty" yaml:"score"`       // default: the last reward
	Success  float64           `json:"success,omitempty" yaml:"success"`   // the least score that is a success; default 1
	Action   string            `json:"action,omitempty" yaml:"action"`     // template that gives the action's JSON
	Reset    string            `json:"reset,omitempty" yaml:"reset"`       // template that gives the reset's JSON
	Tasks    []string          `json:"tasks,omitempty" yaml:"tasks"`       // names of tasks, where the server lists none
	Family   string            `json:"family,omitempty" yaml:"family"`     // mobile | web
}

// Recorded marks suites of recorded tasks, teacher-forced: whatever is done, the recorded next page follows. Their rate is step_sr, never a success rate.
type Recorded interface {
	// Protocol names how a step is posed and scored; it stands in every row of results. Empty: not recorded after all.
	Protocol() string
}

// ProtocolOf is a recorded suite's protocol; empty where the suite is none.
func ProtocolOf(s Suite) string {
	if r, ok := s.(Recorded); ok {
		return r.Protocol()
	}
	return ""
}

// Versioned is an optional capability of suites: what they play, so that results over other data are never mixed.
type Versioned interface {
	// Version is a digest of data or pages, or a server's version.
	Version(ctx context.Context) (string, error)
}

// HealthState is a suite's state.
type HealthState string

// The levels of health.
const (
	Ready    HealthState = "ready"
	Busy     HealthState = "busy"
	Degraded HealthState = "degraded"
	Dead     HealthState = "dead"
)

// Health is the answer of Check.
type Health struct {
	State  HealthState
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
	// History, where it is not nil, is the recorded history before the observation: it stands in place of the system's own.
	History []string
}

// Score is the end of an episode.
type Score struct {
	Success bool
	Raw     float64 // the environment's own figure, kept as information
	// Metrics are further figures by name; suites of recorded tasks give StepSR among them.
	Metrics map[string]domain.Metric
}

// StepSR is the metric that recorded suites are compared by: steps that are right in full.
const StepSR = "step_sr"

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
