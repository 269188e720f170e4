// Package grade has the activities that label the episodes of an epoch and make pairs of them, by the critic and the
// adversary of a run. It does not know how policies are trained on the pairs.
package grade

import (
	"context"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Models label episodes and make pairs of them.
type Models struct {
	activities.Common
	Feedback Feedback
}

// Feedback is what plays the critic and the adversary of a run.
type Feedback struct {
	Bucket    store.Bucket
	Policies  chat.Model  // answers for the agents; a model's name is a policy's digest
	Scores    chat.Scorer // scores answers under the policies: the hardest rejected answers come first
	Endpoints *endpoints.Endpoints
	Wording   play.Wording
}

// Episode is a recorded episode with its steps.
type Episode struct {
	Slot    domain.Slot
	Success bool

	ref   store.Ref
	steps []domain.Step
}

// Labeller labels a step: by the run's critic, or by the outcome.
type Labeller func(ctx context.Context, step domain.Step) (domain.Credit, error)

// Proposer gets n answers of the adversary to the prompt of a cell. It sets the model, the texts and the usage of a
// call whose seed is given.
type Proposer func(ctx context.Context, step domain.Step, cell domain.Cell, n int, call *runs.Call) error
