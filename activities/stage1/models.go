package stage1

import (
	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/grade"
)

// Models write the items and pairs of levels.
type Models struct {
	activities.Common
	Feedback grade.Feedback
}
