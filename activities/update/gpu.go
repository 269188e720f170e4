package update

import (
	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/training"
	"github.com/collabui/collabui/internal/method/chat"
)

// GPU updates policies. With the embedded trainer it needs no GPU.
type GPU struct {
	activities.Common
	Jobs     *training.Jobs
	Policies chat.Model  // answers for the policies that are probed
	Scores   chat.Scorer // scores answers under the policies that are probed
}

// AgentID names one agent's update.
type AgentID struct {
	Run   string
	Epoch int
	Agent int
}
