package simulation

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/test/kit/fakepolicy"
)

// policies answer for all policies, unless the scheduler strikes.
type policies struct{ *scheduler }

func (p policies) Complete(ctx context.Context, q chat.Request) (chat.Response, error) {
	if err := p.ask(ctx, fmt.Sprintf("chat %x", q.Seed)); err != nil {
		return chat.Response{}, err
	}

	return fakepolicy.Policies{}.Complete(ctx, q)
}

func (p policies) Score(ctx context.Context, q chat.ScoreRequest) ([]chat.Score, error) {
	asked := domain.Seed(0, q.User, fmt.Sprint(q.Answers))
	if err := p.ask(ctx, fmt.Sprintf("score %.8s %x", q.Model, asked)); err != nil {
		return nil, err
	}

	return fakepolicy.Policies{}.Score(ctx, q)
}

// critic is a chat endpoint that grades cells, as a function of what they say.
type critic struct{ *scheduler }

var cell = regexp.MustCompile(`(?m)^(\d+\.\d+)\n\| [^\n]*Action: (\{[^\n]*\})$`)

func (c critic) Complete(ctx context.Context, q chat.Request) (chat.Response, error) {
	asked := domain.Seed(0, q.User)
	k, after, err := c.at(ctx, fmt.Sprintf("critic %x", asked), modelFaults...)
	if err != nil {
		return chat.Response{}, err
	}
	after()
	switch k {
	case ModelDown:
		return chat.Response{}, fault.New(fault.Transient, "simulation: no chat endpoint answers")
	case ModelBusy:
		return chat.Response{}, fault.After(fault.Throttled, 20*time.Second, "simulation: too many requests")
	case ModelHangs:
		time.Sleep(2 * time.Minute)

		return chat.Response{}, fault.New(fault.Transient, "simulation: no answer in time")
	}
	var grades []string
	for _, m := range cell.FindAllStringSubmatch(q.User, -1) {
		grades = append(grades, fmt.Sprintf(`{"cell":%q,"reason":"r","score":%d}`, m[1], domain.Seed(0, m[2])&1))
	}

	return chat.Response{
		Texts: []string{`{"grades":[` + strings.Join(grades, ",") + `]}`}, Usage: domain.Usage{Prompt: 1, Answer: 1},
	}, ctx.Err()
}

// ask is one request to a policy server.
func (p policies) ask(ctx context.Context, name string) error {
	k, after, err := p.at(ctx, name, policyFaults...)
	if err != nil {
		return err
	}
	after()
	switch k {
	case PolicyDown:
		return fault.New(fault.Transient, "simulation: no policy server answers")
	case PolicyBusy:
		return fault.New(fault.Throttled, "simulation: too many requests")
	}

	return ctx.Err()
}

// suite is the scripted suite, whose environments die or show odd things when the scheduler says so.
type suite struct {
	*scripted.Suite
	*scheduler
}

func (x suite) Open(ctx context.Context) (envadapters.Environment, error) {
	e, err := x.Suite.Open(ctx)
	if err != nil {
		return nil, err
	}

	return &environment{scriptable: e.(scriptable), scheduler: x.scheduler}, nil
}

// scriptable is all that an environment of the scripted suite can do.
type scriptable interface {
	envadapters.Environment
	envadapters.Judge
	envadapters.Expert
	envadapters.Replayable
}

type environment struct {
	scriptable
	*scheduler
	dead bool
}

func (e *environment) Reset(ctx context.Context, t domain.Task) (envadapters.Transition, error) {
	return e.strike(ctx, "reset", func() (envadapters.Transition, error) { return e.scriptable.Reset(ctx, t) })
}

func (e *environment) Step(ctx context.Context, a domain.Action) (envadapters.Transition, error) {
	return e.strike(ctx, "step", func() (envadapters.Transition, error) { return e.scriptable.Step(ctx, a) })
}

func (e *environment) Score(ctx context.Context) (envadapters.Score, error) {
	if e.dead {
		return envadapters.Score{}, errDeadEnvironment
	}

	return e.scriptable.Score(ctx)
}

var errDeadEnvironment = fault.New(fault.Void, "simulation: the environment is dead")

// strike does something in the environment. An odd environment shows something that it will not show again, and dies.
func (e *environment) strike(
	ctx context.Context, name string, do func() (envadapters.Transition, error),
) (envadapters.Transition, error) {
	k, after, err := e.at(ctx, name, environmentFaults...)
	switch {
	case err != nil:
		return envadapters.Transition{}, err
	case e.dead, k == EnvironmentDies:
		e.dead = true

		return envadapters.Transition{}, errDeadEnvironment
	}
	tr, err := do()
	after()
	if k == EnvironmentOdd && len(tr.Observation.Elements) > 0 {
		e.dead = true
		tr.Observation.Elements = slices.Clone(tr.Observation.Elements)
		tr.Observation.Elements[0].Text += " odd"
	}

	return tr, err
}
