package miniwob

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/browser"
	"github.com/collabui/collabui/fault"
)

// mobileGoal precedes the goal in mobile semantics.
const mobileGoal = "Follow the instructions shown on the top of the screen: "

// environment plays episodes in one tab, which it keeps between episodes.
type environment struct {
	*browser.Episode
	suite *Suite

	goal string // the goal as the page states it
	page pageState
	seen domain.Observation
	memo memory // what the expert remembers
	left bool   // the agent left the app

	pointer [2]float64    // where the mouse rests, in CSS pixels
	touched *domain.Touch // where the action touched the screen
}

// pageState is the answer of collabui.observe.
type pageState struct {
	Width    int       `json:"width"`
	Height   int       `json:"height"`
	Elements []element `json:"elements"`
	Over     bool      `json:"over"` // the page ended the episode
	Raw      float64   `json:"raw"`  // the page's raw reward, in -1..1, once the episode is over
}

// element is an element with fields that only the adapter needs.
type element struct {
	domain.Element
	Tap [2]float64 `json:"tap"` // a point that reaches a visible element, in CSS pixels
	By  widget     `json:"by"`
}

// widget is a control that the browser itself would show for an element, outside of the page.
type widget string

const (
	byList   widget = "select" // a list of options
	byOption widget = "option" // one of the options
	byPicker widget = "pick"   // a picker, such as a calendar
)

// Replayable marks the environment as replayable: its clock, random numbers and page state are the same at the
// beginning of every episode of a task.
func (e *environment) Replayable() {}

// Reset loads the task's page and begins an episode on it.
func (e *environment) Reset(ctx context.Context, t domain.Task) (envadapters.Transition, error) {
	if err := e.Begin(t); err != nil {
		return envadapters.Transition{}, err
	}

	s := e.suite
	if !slices.Contains(s.Splits(), t.Split) || !slices.Contains(s.names, t.Template) || !in(t.Split, t.Template) {
		return envadapters.Transition{}, fault.New(fault.Invalid, "%w: miniwob has no template %q in split %q",
			envadapters.ErrTask, t.Template, t.Split)
	}

	e.left = false
	e.memo = memory{}
	if err := e.load(ctx); err != nil {
		return envadapters.Transition{}, e.Spoil(ctx, err)
	}

	goal := e.goal
	if e.mobile() {
		goal = mobileGoal + goal
	}

	return envadapters.Transition{Goal: goal, Observation: e.seen}, nil
}

// load loads the task's page, starts the episode on it and observes it.
func (e *environment) load(ctx context.Context) error {
	open := func(b *browser.Browser) (*browser.Tab, error) { return e.suite.tab(ctx, b) }
	if err := e.Prepare(open); err != nil {
		return err
	}

	page := e.suite.url + "/miniwob/" + e.Task.Template + ".html"
	var missing string
	err := e.Tab().Running(ctx, func() error {
		return e.Tab().Eval(ctx, "collabui.open("+browser.Quote(page)+")", &missing)
	})
	if err == nil && missing != "" {
		err = fault.New(fault.Void, "the browser could not fetch %s", missing)
	}
	if err != nil {
		return err
	}

	e.pointer = corner(e.suite.rules.view)
	if err := e.ready(ctx); err != nil {
		return err
	}

	mode := "test"
	if e.Task.Split == domain.SplitTrain {
		mode = "train"
	}

	seed := domain.Seed(e.Task.Seed, "miniwob", e.Task.Split)
	if err := e.eval(ctx, fmt.Sprintf("collabui.reset(%q, '%d')", mode, seed), &e.goal); err != nil {
		return err
	}

	if err := e.pass(ctx, settle); err != nil {
		return err
	}

	return e.observe(ctx)
}

const (
	readyTries = 20                    // how often the page's readiness is checked
	readyPause = 50 * time.Millisecond // how long its timers run before each check
)

// ready waits until the page can begin an episode.
func (e *environment) ready(ctx context.Context) error {
	for range readyTries {
		var ready bool
		expr := fmt.Sprintf("collabui.run(%d).then(collabui.ready)", readyPause.Milliseconds())
		if err := e.eval(ctx, expr, &ready); err != nil || ready {
			return err
		}
	}

	return fmt.Errorf("%w: the page does not become ready", browser.ErrPage)
}

// eval evaluates an expression in the task's page, as Tab.Eval does.
func (e *environment) eval(ctx context.Context, expr string, out any) error {
	return e.Tab().Eval(ctx, "collabui.at("+browser.Quote(expr)+")", out)
}

func (e *environment) mobile() bool { return e.suite.rules.name == Mobile }

// observe reads the screen.
func (e *environment) observe(ctx context.Context) error {
	var raw string // as text, because the browser sends large values slowly
	if err := e.eval(ctx, "JSON.stringify(collabui.observe())", &raw); err != nil {
		return err
	}

	var p pageState
	if err := json.Unmarshal([]byte(raw), &p); err != nil {
		return fault.New(fault.Void, "read an observation: %w", err)
	}

	e.page = p
	e.seen = domain.Observation{Width: p.Width, Height: p.Height, Elements: make([]domain.Element, len(p.Elements))}
	for i := range p.Elements {
		p.Elements[i].Index = i
		e.seen.Elements[i] = p.Elements[i].Element
	}

	return nil
}

// Step executes one action and observes the page. The episode ends when the page or the agent ends it, when the agent
// leaves the app, or at the budget. A page sets its reward when it ends the episode, so the first reward other than 0
// ends it. A page that ends with 0 is over too, because a tap on its cover would begin another task.
func (e *environment) Step(ctx context.Context, action domain.Action) (envadapters.Transition, error) {
	if err := e.BeginStep(); err != nil {
		return envadapters.Transition{}, err
	}

	e.memo.did(action, e.seen)
	e.touched = nil
	invalid, err := e.act(ctx, action)
	if err == nil {
		err = e.observe(ctx)
	}
	if err != nil {
		return envadapters.Transition{}, e.Spoil(ctx, err)
	}

	over := e.page.Over || e.left || action.Type == domain.ActionStatus
	if invalid != "" {
		e.touched = nil
	}
	tr := envadapters.Transition{Observation: e.seen, Invalid: invalid, Touch: e.touched}

	return e.EndStep(tr, over, e.success()), nil
}

// success reports whether the page gave its full raw reward. Some pages give part of it for wrong answers.
func (e *environment) success() bool { return e.page.Over && e.page.Raw == 1 }

// Score returns the page's raw reward, which is in -1..1, as Raw.
func (e *environment) Score(context.Context) (envadapters.Score, error) {
	return envadapters.Score{Success: e.success(), Raw: e.page.Raw}, nil
}

// Advise returns the expert's action. The expert sees the goal and the observations only.
func (e *environment) Advise() (domain.Action, bool) {
	return advise(e.Task.Template, e.goal, e.seen, e.memo)
}
