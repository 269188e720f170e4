package envadapters

import (
	"context"

	"github.com/collabui/collabui/domain"
)

// Expert is an optional capability of environments: it knows an action that helps. Demonstrations need it.
type Expert interface {
	// Advise returns an action that helps in the current state. ok is false if the expert knows of no such action. It
	// may be called after Reset or Step.
	Advise() (a domain.Action, ok bool)
}

// Judge is an optional capability of environments: it knows the right actions. Labels that it provides are marked
// "oracle (privileged)".
type Judge interface {
	// Right returns all actions that help in the current state, or nil if the judge does not know. It may be called
	// after Reset or Step.
	Right() []domain.Action
}

// Evident is an optional capability of environments with a Judge: it knows what supports the right actions.
type Evident interface {
	// Because returns, for each action of Right in its order, the indices of the elements that one must see to know
	// that it is right. None means that it is right whatever one sees, and -1 stands for something that is not on this
	// screen, such as a fact of an earlier one. It is called after Reset or Step.
	Because() [][]int
}

// Screenshotter is an optional capability of environments.
type Screenshotter interface {
	// Screenshot returns the current screen as PNG, or a fault of kind Void if the environment broke.
	Screenshot(ctx context.Context) ([]byte, error)
}

// Replayable marks environments whose observations are a function of the task and the actions, so that an interrupted
// episode can be resumed by replaying its actions. In other environments, an interrupted attempt is void and the next
// one starts over.
type Replayable interface{ Replayable() }

// Abilities are the optional capabilities of an environment. The ones that it lacks are nil or false.
type Abilities struct {
	Expert        Expert
	Judge         Judge
	Evident       Evident
	Screenshotter Screenshotter
	Replayable    bool
}

// Able is for environments that know their capabilities only at run time, such as remote ones.
type Able interface{ Abilities() Abilities }

// Can returns the capabilities of an environment: the ones that Able reports or, without Able, the ones whose
// interfaces it implements. Call it after Reset, because some environments know only then whether they are replayable.
func Can(env Environment) Abilities {
	if able, ok := env.(Able); ok {
		return able.Abilities()
	}

	var abilities Abilities
	abilities.Expert, _ = env.(Expert)
	abilities.Judge, _ = env.(Judge)
	abilities.Evident, _ = env.(Evident)
	abilities.Screenshotter, _ = env.(Screenshotter)
	_, abilities.Replayable = env.(Replayable)

	return abilities
}
