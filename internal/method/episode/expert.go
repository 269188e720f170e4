package episode

import (
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// CanDemonstrate reports whether an environment has an expert or a judge.
func CanDemonstrate(env envadapters.Environment) bool {
	can := envadapters.Can(env)

	return can.Judge != nil || can.Expert != nil
}

// Helpful returns what a demonstration may do now: every action that the judge calls right, so that data do not depend
// on one order of free steps, or else what the expert advises.
func Helpful(env envadapters.Environment) []domain.Action {
	can := envadapters.Can(env)
	if can.Judge != nil {
		return can.Judge.Right()
	}
	if can.Expert != nil {
		if action, ok := can.Expert.Advise(); ok {
			return []domain.Action{action}
		}
	}

	return nil
}

// Right returns the actions that the environment's judge calls right now, if it has one.
func Right(env envadapters.Environment) []domain.Action {
	if judge := envadapters.Can(env).Judge; judge != nil {
		return judge.Right()
	}

	return nil
}
