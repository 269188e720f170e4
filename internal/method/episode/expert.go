package episode

import (
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
)

// NoExpert returns the error of an environment that has neither an expert nor a judge, although the specification
// relies on demonstrations.
func NoExpert(specification spec.Spec) error {
	return fault.New(fault.Invalid,
		"environment %s has neither an expert nor a judge: set finetune.levels and a model as synthesis.agent, "+
			"or a policy as finetune.base", specification.Environment)
}

// CheckJudge refuses an environment without the judge that a specification relies on.
func CheckJudge(given spec.Spec, env envadapters.Environment) error {
	if given.Credit == spec.CreditCritic && given.Critic.Model == spec.RoleOracle && envadapters.Can(env).Judge == nil {
		return fault.New(fault.Invalid,
			"environment %s has no judge, so the critic cannot be %q: name a model as critic.model, "+
				"or use credit: outcome",
			given.Environment, spec.RoleOracle)
	}

	return nil
}

// CanDemonstrate reports whether an environment has an expert or a judge.
func CanDemonstrate(env envadapters.Environment) bool {
	can := envadapters.Can(env)

	return can.Judge != nil || can.Expert != nil
}

// Helpful returns the actions that a demonstration may take now: all actions that the judge considers right, so that
// the data do not depend on one order of interchangeable steps, or else the expert's advice.
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

// Because returns, for each of the Helpful actions, the elements that support it. It returns nil if the environment
// does not know them.
func Because(env envadapters.Environment) [][]int {
	can := envadapters.Can(env)
	if can.Judge == nil || can.Evident == nil {
		return nil
	}

	return can.Evident.Because()
}

// Right returns the actions that the environment's judge considers right now. It returns nil if there is no judge.
func Right(env envadapters.Environment) []domain.Action {
	if judge := envadapters.Can(env).Judge; judge != nil {
		return judge.Right()
	}

	return nil
}
