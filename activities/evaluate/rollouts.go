package evaluate

import (
	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/policy/endpoints"
)

// Rollouts play the tasks of evaluations.
type Rollouts struct {
	activities.Common
	Suites    *play.Suites
	Policies  chat.Model              // answers for the agents; a model's name is a policy's digest
	Endpoints *endpoints.Endpoints    // for models that play other roles
	Over      func(prompt string) int // returns how much of a prompt is too much for the embedded policy
}
