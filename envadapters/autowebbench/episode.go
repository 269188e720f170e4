package autowebbench

import (
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/recorded"
)

// episode is a recorded task that is being played.
type episode struct {
	steps []step
	at    int
}

// Goal returns the goal of the recorded task.
func (e *episode) Goal() string { return e.steps[0].task }

// Pose returns the pose of the current record.
func (e *episode) Pose() (recorded.Pose, bool) {
	if e.at == len(e.steps) {
		return recorded.Pose{}, false
	}

	return e.steps[e.at].pose, true
}

// Do scores an action against the current record.
func (e *episode) Do(action domain.Action) map[string]domain.Metric {
	gold := e.steps[e.at].gold
	e.at++

	return score(action, gold)
}
