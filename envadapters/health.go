package envadapters

import (
	"context"

	"github.com/collabui/collabui/domain"
)

// HealthState is the degree to which a suite can be used.
type HealthState string

const (
	// Ready means that the suite can be used.
	Ready HealthState = "ready"
	// Busy means that all places are taken.
	Busy HealthState = "busy"
	// Degraded means that the suite can be used, but some of it is missing.
	Degraded HealthState = "degraded"
	// Dead means that the suite cannot be used.
	Dead HealthState = "dead"
)

// Health is the result of Suite.Check.
type Health struct {
	State HealthState
	// Detail describes the findings.
	Detail string
	// Fix is the advice to the user. It is empty if there is nothing to do.
	Fix string
}

// Probe opens an environment of the suite, resets it to one task and reports the outcome. fix is the advice to give if
// the reset fails. Suites use Probe in Check.
func Probe(ctx context.Context, suite Suite, task domain.Task, fix string) Health {
	env, err := suite.Open(ctx)
	if err != nil {
		return Health{State: Busy, Detail: err.Error(), Fix: "wait, or run the worker with more places"}
	}
	defer env.Close(ctx)

	task.Suite = suite.Name()
	if _, err := env.Reset(ctx, task); err != nil {
		return Health{State: Dead, Detail: err.Error(), Fix: fix}
	}

	return Health{State: Ready, Detail: "a page opens, resets and observes"}
}

// Server is the state of one server or emulator of a suite.
type Server struct {
	Address string      `json:"address"`
	State   HealthState `json:"state"`
	Detail  string      `json:"detail,omitempty"`
}

// Served is a suite whose environments are on servers.
type Served interface {
	// Servers looks at every server until ctx ends. It occupies no place of any server.
	Servers(ctx context.Context) []Server
}
