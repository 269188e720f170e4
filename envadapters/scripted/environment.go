package scripted

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// buttons is the number of buttons on the screen.
const buttons = 6

type environment struct {
	suite *Suite
	task  domain.Task
	// names are the buttons in the order of the screen, want the buttons to tap in order.
	names, want []string
	at          int
	steps       int
	ended       bool
	// a text appended to the screen after Diverge
	suffix string
	closed bool
}

func (e *environment) Replayable() {}

// misbehave performs the misbehaviour that the script prescribes for the step.
func (e *environment) misbehave(ctx context.Context, step int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}

	switch e.suite.hit(e.task, step) {
	case Void:
		return fault.New(fault.Void, "scripted fault at step %d", step)
	case Invalid:
		return fault.New(fault.Invalid, "%w: scripted", envadapters.ErrTask)
	case Diverge:
		e.suffix = fmt.Sprintf("odd %d", e.suite.Episodes)
	}

	return nil
}

func (e *environment) Reset(ctx context.Context, task domain.Task) (envadapters.Transition, error) {
	e.suite.mu.Lock()
	e.suite.Episodes++
	e.suite.mu.Unlock()

	known, err := e.suite.Templates(task.Split)
	named := func(template envadapters.Template) bool { return template.Name == task.Template }
	if err != nil || !slices.ContainsFunc(known, named) {
		return envadapters.Transition{}, fault.New(fault.Invalid, "%w: scripted has no template %q in split %q",
			envadapters.ErrTask, task.Template, task.Split)
	}

	e.task = task
	e.at = 0
	e.steps = 0
	e.ended = false
	e.suffix = ""
	if err := e.misbehave(ctx, 0); err != nil {
		return envadapters.Transition{}, err
	}
	e.draw()

	goal := "Tap " + strings.Join(e.want, " then ")

	return envadapters.Transition{Goal: goal, Observation: e.observe()}, nil
}

// draw names the buttons, chooses the ones to tap, and orders them on the screen.
func (e *environment) draw() {
	rand := domain.Rand(e.task.Seed, e.task.Template, e.task.Split)
	e.names = nil
	for _, i := range rand.Perm(20)[:buttons] {
		e.names = append(e.names, fmt.Sprintf("w%c%d", 'a'+i, rand.IntN(1000)))
	}

	e.want = e.names[:e.suite.length()]
	e.names = slices.Clone(e.names)
	rand.Shuffle(len(e.names), func(i, j int) { e.names[i], e.names[j] = e.names[j], e.names[i] })
}

// observe shows the buttons and, below them, the number of buttons tapped.
func (e *environment) observe() domain.Observation {
	observation := domain.Observation{Width: 100, Height: 100}
	add := func(role, text string) {
		i := len(observation.Elements)
		observation.Elements = append(observation.Elements, domain.Element{
			Index:   i,
			Role:    role,
			Text:    text,
			Bounds:  domain.Rect{0, 10 * i, 100, 10},
			Visible: true,
		})
	}

	for _, name := range e.names {
		add("button", name)
	}
	add("text", fmt.Sprintf("count %d%s", e.at, e.suffix))

	return observation
}

func (e *environment) Step(ctx context.Context, action domain.Action) (envadapters.Transition, error) {
	if e.ended {
		return envadapters.Transition{}, fault.New(fault.Fatal, "step after the episode's end")
	}

	e.steps++
	if err := e.wait(ctx); err != nil {
		return envadapters.Transition{}, err
	}
	if err := e.misbehave(ctx, e.steps); err != nil {
		return envadapters.Transition{}, err
	}

	transition := envadapters.Transition{Invalid: e.tap(action)}
	transition.Observation = e.observe()
	transition.Terminated = e.done()
	transition.Truncated = !transition.Terminated && e.steps >= e.task.MaxSteps
	e.ended = transition.Terminated || transition.Truncated
	if transition.Terminated {
		transition.Reward = 1
	}

	return transition, nil
}

// Takes returns the duration of a step of a task, counted from 1: a lognormal time with σ = 1.
func Takes(task domain.Task, step int, median time.Duration) time.Duration {
	times := math.Exp(domain.Rand(task.Seed, "latency", task.Template, task.Split, step).NormFloat64())

	return time.Duration(times * float64(median))
}

// wait waits for the duration of a step.
func (e *environment) wait(ctx context.Context) error {
	if e.suite.Latency == 0 {
		return nil
	}

	select {
	case <-time.After(Takes(e.task, e.steps, e.suite.Latency)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tap taps a button. invalid is the reason why it cannot.
func (e *environment) tap(action domain.Action) (invalid string) {
	switch {
	case action.Type != domain.ActionClick || action.Index == nil:
		return "only click does anything here"
	case *action.Index < 0 || *action.Index >= len(e.names):
		return "no such button"
	case e.names[*action.Index] == e.want[e.at]:
		e.at++
	}

	return ""
}

func (e *environment) done() bool { return e.at == len(e.want) }

func (e *environment) Score(context.Context) (envadapters.Score, error) {
	return envadapters.Score{Success: e.done(), Raw: float64(e.at) / float64(len(e.want))}, nil
}

// Advise returns a tap on the next button.
func (e *environment) Advise() (domain.Action, bool) {
	if e.done() {
		return domain.Action{}, false
	}
	return e.Right()[0], true
}

// Right returns a tap on the next button.
func (e *environment) Right() []domain.Action {
	if e.done() {
		return nil
	}
	return []domain.Action{domain.Action{Type: domain.ActionClick}.At(slices.Index(e.names, e.want[e.at]))}
}

func (e *environment) Close(context.Context) {
	if !e.closed {
		e.closed = true
		<-e.suite.free
	}
}
