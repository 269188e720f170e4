package mixed

import (
	"context"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// environment plays a task of any part in an environment of that part.
type environment struct {
	suite  *Suite
	agents domain.Family

	part string
	env  envadapters.Environment // an environment of the part; nil before the first Reset
}

// Speak makes the environment speak a family, whichever family its parts have.
func (e *environment) Speak(agents domain.Family) envadapters.Environment {
	e.agents = agents

	return e
}

// Abilities returns the abilities of the part that plays. Before Reset there are none.
func (e *environment) Abilities() envadapters.Abilities {
	if e.env == nil {
		return envadapters.Abilities{}
	}

	return envadapters.Can(e.env)
}

func (e *environment) Reset(ctx context.Context, task domain.Task) (envadapters.Transition, error) {
	part, template, _ := strings.Cut(task.Template, between)
	suite := e.suite.parts[part]
	if suite == nil {
		return envadapters.Transition{}, fault.New(fault.Invalid, "%w: it names no part of %s: %q",
			envadapters.ErrTask, e.suite.Title(), task.Template)
	}
	if e.env == nil || e.part != part {
		e.Close(ctx)
		env, err := suite.Open(ctx)
		if err != nil {
			return envadapters.Transition{}, err
		}
		e.part = part
		e.env = envadapters.Speaking(env, suite.Family(), e.agents)
	}
	task.Suite = suite.Name()
	task.Template = template

	return e.env.Reset(ctx, task)
}

func (e *environment) Step(ctx context.Context, action domain.Action) (envadapters.Transition, error) {
	if e.env == nil {
		return envadapters.Transition{}, notReset()
	}

	return e.env.Step(ctx, action)
}

func (e *environment) Score(ctx context.Context) (envadapters.Score, error) {
	if e.env == nil {
		return envadapters.Score{}, notReset()
	}

	return e.env.Score(ctx)
}

func notReset() error { return fault.New(fault.Fatal, "a step or a score without Reset") }

func (e *environment) Close(ctx context.Context) {
	if e.env != nil {
		e.env.Close(ctx)
		e.env = nil
	}
}

var (
	_ envadapters.Able    = (*environment)(nil)
	_ envadapters.Speaker = (*environment)(nil)
)
