package lifecycle

import (
	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/play"
)

// Control plans runs from their beginning to their end, and records what people order.
type Control struct {
	activities.Common
	Suites  *play.Suites
	Notices Notices
	View    string // address of the viewer, for people
}
