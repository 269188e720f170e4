// Package retrain has the activities of the firings of a schedule: they find what is new, fork the accepted system's
// run, compare the re-trained system with it, and decide about the line.
package retrain

import (
	"context"
	"log/slog"
	"time"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/internal/records/schedules"
)

// Control decides whether and how a schedule trains the accepted system of its line again.
type Control struct {
	activities.Common
	Suites *play.Suites

	// Missed returns how many firings of a schedule were later than it allows. If it is nil, that is unknown.
	Missed func(ctx context.Context, schedule string) (int, error)
}

// FiringID names a firing of a schedule.
type FiringID struct {
	Schedule string
	Version  int       // of the schedule
	ID       string    // such as 20261123-030000
	At       time.Time // when it began
}

// log returns the logger of a firing.
func (id FiringID) log(log activities.Log) *slog.Logger {
	return log.For("", "schedule", id.Schedule, "firing", id.ID)
}

// firing reads what a firing found, with the version of its schedule.
func (c *Control) firing(ctx context.Context, id FiringID) (schedules.Firing, schedules.Version, error) {
	name := schedules.Schedule(id.Schedule)
	firing, _, err := name.Firing(id.ID).Must(ctx, c.Bucket)
	if err != nil {
		return firing, schedules.Version{}, err
	}
	version, _, err := name.Version(firing.Version).Must(ctx, c.Bucket)

	return firing, version, err
}
