// Package preflight has the activities that check, before a run starts, whether its workers have what it needs.
package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/activities/training"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/store"
)

// Control checks what a control worker needs.
type Control struct {
	activities.Common
	Suites *play.Suites
}

// Rollouts check what a rollout worker needs.
type Rollouts struct {
	activities.Common
	Suites    *play.Suites
	Policies  chat.Model
	Endpoints *endpoints.Endpoints
}

// Models check what a worker of the role model needs.
type Models struct {
	activities.Common
	Endpoints *endpoints.Endpoints
}

// GPU checks what a GPU worker needs.
type GPU struct {
	activities.Common
	Jobs *training.Jobs

	// Ready returns why fewer policy servers than a quorum are healthy; 0 means all. If it is nil, that is unknown.
	Ready func(ctx context.Context, quorum int) error
}

// ID names what is checked before it starts.
type ID struct {
	Specs   []string // digests of blobs with Candidates
	NoProbe bool     `json:",omitempty"` // no model is called
	Models  []string `json:",omitempty"` // models that play as agents, besides the models of roles
}

// Candidate is a specification that is checked. Its blob is removed afterwards, so it is another one every time.
type Candidate struct {
	At   time.Time `json:"at"`
	Spec spec.Spec `json:"spec"`
}

// Obstacle is a reason why a run could not end well.
type Obstacle struct {
	Where   string `json:"where"`             // field of the specification, or the worker that lacks something
	Why     string `json:"why"`               // and what to do about it
	Warning bool   `json:"warning,omitempty"` // it could not be found out in time, or does no harm yet

	// Transient means that the same may succeed later, because a service does not respond now.
	Transient bool `json:"transient,omitempty"`
}

// preflightTime limits the checks of a worker, except trials of models: a person waits for it.
const preflightTime = 8 * time.Second

// obstacles collects what a worker finds.
type obstacles []Obstacle

// add notes an error. What did not end in time is a warning.
func (o *obstacles) add(ctx context.Context, where string, err error) {
	if err == nil {
		return
	}
	obstacle := Obstacle{Where: where, Why: err.Error(), Transient: fault.KindOf(err) == fault.Transient}
	if ctx.Err() != nil {
		obstacle.Why = fmt.Sprintf("not known after %s: %s", preflightTime, obstacle.Why)
		obstacle.Warning = true
	}
	if !slices.Contains(*o, obstacle) {
		*o = append(*o, obstacle)
	}
}

// examine calls look with every specification. Obstacles that look adds again are kept once.
func examine(
	ctx context.Context, common activities.Common, id ID, look func(ctx context.Context, given spec.Spec, o *obstacles),
) ([]Obstacle, error) {
	return activities.Do(ctx, common.Log.For(""), func(ctx context.Context, _ activities.Progress) ([]Obstacle, error) {
		out := obstacles{}
		for _, digest := range id.Specs {
			raw, err := store.GetBlob(ctx, common.Bucket, digest)
			if err != nil {
				return nil, err
			}
			var candidate Candidate
			if err := json.Unmarshal(raw, &candidate); err != nil {
				return nil, fault.New(fault.Corrupt, "blob %s is not a specification: %w", digest, err)
			}
			look(ctx, candidate.Spec, &out)
		}

		return out, nil
	})
}
