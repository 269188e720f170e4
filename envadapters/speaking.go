package envadapters

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/collabui/collabui/domain"
)

// Speaker is an optional capability of environments that translate actions themselves.
type Speaker interface {
	// Speak returns an environment for agents of the given family. It is called before Reset.
	Speak(agents domain.Family) Environment
}

// Speaking lets agents of one action family play an environment of the other family. It shows elements under the names
// that the agents use and translates actions both ways. If an action has no counterpart, the step is invalid and a
// no-op is executed instead. If both families are equal, Speaking returns env itself.
func Speaking(env Environment, suite, agents domain.Family) Environment {
	if speaker, ok := env.(Speaker); ok {
		return speaker.Speak(agents)
	}
	if suite == agents {
		return env
	}

	return &interpreter{Environment: env, suite: suite, agents: agents}
}

type interpreter struct {
	Environment
	suite, agents domain.Family
	// seen is the current observation; its elements have both an index and an ID.
	seen domain.Observation
}

// show keeps the observation with both names of its elements, and returns it with the names of the agents' family only.
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

func (i *interpreter) Reset(ctx context.Context, task domain.Task) (Transition, error) {
	tr, err := i.Environment.Reset(ctx, task)

	return i.show(tr), err
}

func (i *interpreter) Step(ctx context.Context, action domain.Action) (Transition, error) {
	translated, ok := action.In(i.suite, i.seen)
	if !ok {
		translated = domain.Action{Family: i.suite, Type: domain.ActionNone}
	}

	tr, err := i.Environment.Step(ctx, translated)
	if err == nil && !ok {
		tr.Invalid = fmt.Sprintf("this environment has no counterpart of %s", action.Type)
	}

	return i.show(tr), err
}

// Abilities returns the abilities of the wrapped environment. Its expert and judge use the actions of the agents.
func (i *interpreter) Abilities() Abilities {
	abilities := Can(i.Environment)
	if abilities.Expert != nil {
		abilities.Expert = interpreted{i, abilities}
	}
	if abilities.Judge != nil {
		abilities.Judge = interpreted{i, abilities}
	}

	return abilities
}

// interpreted translates the answers of an environment's expert and judge into actions of the agents' family. It leaves
// out actions without a counterpart.
type interpreted struct {
	*interpreter
	of Abilities
}

func (x interpreted) Advise() (domain.Action, bool) {
	action, ok := x.of.Expert.Advise()
	if !ok {
		return action, false
	}

	return action.In(x.agents, x.seen)
}

func (x interpreted) Right() []domain.Action {
	var out []domain.Action
	for _, action := range x.of.Judge.Right() {
		if b, ok := action.In(x.agents, x.seen); ok {
			out = append(out, b)
		}
	}

	return out
}
