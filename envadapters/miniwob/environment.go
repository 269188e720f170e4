package miniwob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/browser"
	"github.com/collabui/collabui/fault"
)

// mobileGoal stands before the goal in mobile semantics.
const mobileGoal = "Follow the instructions shown on the top of the screen: "

// environment plays episodes in one tab, which it keeps between episodes.
type environment struct {
	suite   *Suite
	place   *browser.Place
	closed  bool
	spoiled bool // an error left the tab in an unknown state

	task  domain.Task
	goal  string // as the page says it
	steps int
	page  pageState
	seen  domain.Observation
	memo  memory // of the expert
	ended bool
	left  bool // the agent left the app

	pointer [2]float64 // where the mouse rests, in CSS pixels
}

// pageState is the answer of collabui.observe.
type pageState struct {
	Width    int       `json:"width"`
	Height   int       `json:"height"`
	Elements []element `json:"elements"`
	Over     bool      `json:"over"` // the page ended the episode
	Raw      float64   `json:"raw"`  // its raw reward then
}

// element is an element with what only the adapter needs.
type element struct {
	domain.Element
	Tap [2]float64 `json:"tap"` // a point that reaches it, in CSS pixels, where it is visible
	By  string     `json:"by"`  // what the browser itself would show for it: select, option, pick; empty: nothing
}

// Replayable: clock, chance and page state begin anew with every episode; measured over all pages of the package, in both semantics.
func (e *environment) Replayable() {}

// Reset loads the task's page and begins an episode on it.
func (e *environment) Reset(ctx context.Context, t domain.Task) (envadapters.Transition, error) {
	if e.closed {
		return envadapters.Transition{}, fault.New(fault.Fatal, "reset of a closed environment")
	}
	if !slices.Contains(e.suite.Splits(), t.Split) || !slices.Contains(e.suite.names, t.Template) || !in(t.Split, t.Template) {
		return envadapters.Transition{}, fault.New(fault.Invalid, "%w: miniwob has no template %q in split %q", envadapters.ErrTask, t.Template, t.Split)
	}
	e.task, e.steps, e.ended, e.left, e.memo = t, 0, false, false, memory{}
	if err := e.begin(ctx); err != nil {
		e.spoiled = true
		return envadapters.Transition{}, pageFault(err)
	}
	goal := e.goal
	if e.mobile() {
		goal = mobileGoal + goal
	}
	return envadapters.Transition{Goal: goal, Observation: e.seen}, nil
}

// A page is asked whether it is ready after a while of its own time, and again.
const (
	readyTries = 20
	readyPause = 50 * time.Millisecond
)

func (e *environment) begin(ctx context.Context) error {
	if err := e.place.Prepare(func(b *browser.Browser) (*browser.Tab, error) { return b.Blank(ctx, e.suite.rules.view) }); err != nil {
		return err
	}
	if err := e.tab().Navigate(ctx, e.suite.url+e.task.Template+".html"); err != nil {
		return err
	}
	e.pointer = corner(e.suite.rules.view)
	for try, ready := 1, false; !ready; try++ {
		if try > readyTries {
			return fmt.Errorf("%w: the page does not become ready", browser.ErrPage)
		}
		if err := e.run(ctx, readyPause); err != nil {
			return err
		}
		if err := e.tab().Eval(ctx, "collabui.ready()", &ready); err != nil {
			return err
		}
	}
	mode := "test"
	if e.task.Split == domain.SplitTrain {
		mode = "train"
	}
	seed := domain.Seed(e.task.Seed, "miniwob", e.task.Split)
	if err := e.tab().Eval(ctx, fmt.Sprintf("collabui.reset(%q, '%d')", mode, seed), &e.goal); err != nil {
		return err
	}
	if err := e.pass(ctx, settle); err != nil {
		return err
	}
	return e.observe(ctx)
}

func (e *environment) tab() *browser.Tab { return e.place.Tab }

func (e *environment) mobile() bool { return e.suite.rules.name == Mobile }

// observe reads the screen.
func (e *environment) observe(ctx context.Context) error {
	var raw string // as text: the browser hands over large values slowly
	if err := e.tab().Eval(ctx, "JSON.stringify(collabui.observe())", &raw); err != nil {
		return err
	}
	var p pageState
	if err := json.Unmarshal([]byte(raw), &p); err != nil {
		return fault.New(fault.Void, "read an observation: %w", err)
	}
	e.page, e.seen = p, domain.Observation{Width: p.Width, Height: p.Height, Elements: make([]domain.Element, len(p.Elements))}
	for i, x := range p.Elements {
		x.Index = i
		p.Elements[i], e.seen.Elements[i] = x, x.Element
	}
	return nil
}

// pageFault tells what a page's script threw, which it would throw again in any browser, from a browser that broke.
func pageFault(err error) error {
	if errors.Is(err, browser.ErrPage) && !strings.Contains(err.Error(), "collabui is not defined") { // a tab without our script has broken
		return fmt.Errorf("%w: %w", envadapters.ErrTask, err)
	}
	return err
}

// Step executes one action. The episode ends when the page or the agent says so, when the agent leaves the app, or at the budget. A page sets its reward when it ends the
// episode, so that the first reward that is not 0 ends it; a page that ends with 0 is over too, because a tap on its cover would begin another task.
func (e *environment) Step(ctx context.Context, a domain.Action) (envadapters.Transition, error) {
	if e.ended {
		return envadapters.Transition{}, fault.New(fault.Fatal, "step after the episode's end")
	}
	e.steps++
	e.memo.did(a, e.seen)
	invalid, err := e.act(ctx, a)
	if err == nil {
		err = e.observe(ctx)
	}
	if err != nil {
		e.spoiled = true
		return envadapters.Transition{}, pageFault(err)
	}
	t := envadapters.Transition{Observation: e.seen, Invalid: invalid, Terminated: e.page.Over || e.left || a.Type == domain.ActionStatus}
	t.Truncated = !t.Terminated && e.steps >= e.task.MaxSteps
	e.ended = t.Terminated || t.Truncated
	if e.success() {
		t.Reward = 1
	}
	return t, nil
}

// success is the full raw reward, and nothing less: some pages give a part of it for wrong answers.
func (e *environment) success() bool { return e.page.Over && e.page.Raw == 1 }

// Score keeps the page's raw reward, which is in -1..1.
func (e *environment) Score(context.Context) (envadapters.Score, error) {
	return envadapters.Score{Success: e.success(), Raw: e.page.Raw}, nil
}

// Advise gives the expert's action, from the goal and the observation alone.
func (e *environment) Advise() (domain.Action, bool) {
	return advise(e.task.Template, e.goal, e.seen, e.memo)
}

// Screenshot gives the current screen as PNG.
func (e *environment) Screenshot(ctx context.Context) ([]byte, error) {
	return e.tab().Screenshot(ctx)
}

// Close gives the place back; a tab in an unknown state is closed.
func (e *environment) Close(context.Context) {
	if e.closed {
		return
	}
	e.closed = true
	e.suite.pool.Give(e.place, !e.spoiled)
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string cannot fail
	return string(b)
}
