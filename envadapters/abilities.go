package envadapters

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/collabui/collabui/domain"
)

// Abilities are the optional capabilities of an environment; what it lacks is nil or false.
type Abilities struct {
	Expert        Expert
	Judge         Judge
	Screenshotter Screenshotter
	Replayable    bool
}

// Able is for environments that know their capabilities only when they run, such as those over a network.
type Able interface{ Abilities() Abilities }

// Can gives the capabilities of an environment: what it says itself, or the interfaces that it implements. Whether an episode can be replayed is known behind its Reset.
func Can(env Environment) Abilities {
	if a, ok := env.(Able); ok {
		return a.Abilities()
	}
	var a Abilities
	a.Expert, _ = env.(Expert)
	a.Judge, _ = env.(Judge)
	a.Screenshotter, _ = env.(Screenshotter)
	_, a.Replayable = env.(Replayable)
	return a
}

// Speaking lets agents of one action family play an environment of the other: elements are shown under the names that the agents use, actions are translated both ways. An
// action without a counterpart is invalid, and a no-op is executed in its place. An environment of the agents' own family is given back as it is.
func Speaking(env Environment, suite, agents domain.Family) Environment {
	if suite == agents {
		return env
	}
	return &interpreter{Environment: env, suite: suite, agents: agents}
}

type interpreter struct {
	Environment
	suite, agents domain.Family
	seen          domain.Observation // elements with both names
}

func (i *interpreter) show(tr Transition) Transition {
	i.seen = tr.Observation
	i.seen.Elements = slices.Clone(tr.Observation.Elements)
	shown := slices.Clone(i.seen.Elements)
	for k := range shown {
		if i.agents == domain.FamilyWeb {
			i.seen.Elements[k].ID = strconv.Itoa(shown[k].Index)
			shown[k].ID = i.seen.Elements[k].ID
		} else {
			shown[k].ID = ""
		}
	}
	tr.Observation.Elements = shown
	return tr
}

func (i *interpreter) Reset(ctx context.Context, t domain.Task) (Transition, error) {
	tr, err := i.Environment.Reset(ctx, t)
	return i.show(tr), err
}

func (i *interpreter) Step(ctx context.Context, a domain.Action) (Transition, error) {
	b, ok := a.In(i.suite, i.seen)
	if !ok {
		b = domain.Action{Family: i.suite, Type: domain.ActionNone}
	}
	tr, err := i.Environment.Step(ctx, b)
	if err == nil && !ok {
		tr.Invalid = fmt.Sprintf("this environment has no counterpart of %s", a.Type)
	}
	return i.show(tr), err
}

// Abilities are those of the environment, in the agents' words.
func (i *interpreter) Abilities() Abilities {
	a := Can(i.Environment)
	if a.Expert != nil {
		a.Expert = interpreted{i, a}
	}
	if a.Judge != nil {
		a.Judge = interpreted{i, a}
	}
	return a
}

// interpreted is expert and judge in the agents' words; what has none is left out.
type interpreted struct {
	*interpreter
	of Abilities
}

func (x interpreted) Advise() (domain.Action, bool) {
	a, ok := x.of.Expert.Advise()
	if !ok {
		return a, false
	}
	return a.In(x.agents, x.seen)
}

func (x interpreted) Right() []domain.Action {
	var out []domain.Action
	for _, a := range x.of.Judge.Right() {
		if b, ok := a.In(x.agents, x.seen); ok {
			out = append(out, b)
		}
	}
	return out
}
