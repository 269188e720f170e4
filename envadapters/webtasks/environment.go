package webtasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/browser"
	"github.com/collabui/collabui/fault"
)

// How long the page's own clock runs, in page time.
const (
	settle   = 50 * time.Millisecond  // after every action
	holdTime = 600 * time.Millisecond // a long press
)

// fontsReady: without its font a page has another layout, so the first observation waits for it.
const fontsReady = `document.fonts.load("15px webtasks").then(f => { if (!f.length) throw "no font" })`

// environment plays episodes in one tab, which it keeps between episodes.
type environment struct {
	suite   *Suite
	place   *browser.Place
	closed  bool
	spoiled bool // an error left the tab in an unknown state

	task  domain.Task
	steps int
	page  pageState
	ended bool
	said  bool // the agent declared the goal reached
}

// pageState is the answer of kit.reset and kit.observe.
type pageState struct {
	Goal string `json:"goal"`
	domain.Observation
	Over  bool            `json:"over"` // the page ended the episode
	Done  bool            `json:"done"` // the goal's state holds
	Right []domain.Action `json:"right"`
}

// Replayable: everything a page shows is a function of template, split, seed and actions.
func (e *environment) Replayable() {}

func (e *environment) Reset(ctx context.Context, t domain.Task) (envadapters.Transition, error) {
	if e.closed {
		return envadapters.Transition{}, fault.New(fault.Fatal, "reset of a closed environment")
	}
	if err := known(t); err != nil {
		return envadapters.Transition{}, err
	}
	if err := e.place.Prepare(func(b *browser.Browser) (*browser.Tab, error) { return b.Tab(ctx, e.suite.url, fontsReady) }); err != nil {
		return envadapters.Transition{}, err
	}
	e.task, e.steps, e.ended, e.said = t, 0, false, false
	if err := e.eval(ctx, fmt.Sprintf("kit.reset(%s, %s, '%d')", quote(t.Template), quote(t.Split), t.Seed)); err != nil {
		return envadapters.Transition{}, err
	}
	return envadapters.Transition{Goal: e.page.Goal, Observation: e.page.Observation}, nil
}

func known(t domain.Task) error {
	all, err := templates()
	if err != nil {
		return err
	}
	for _, x := range all {
		if x.Name == t.Template && x.Held == (t.Split == domain.SplitTestTemplates) {
			return nil
		}
	}
	return fault.New(fault.Invalid, "%w: webtasks has no template %q in split %q", envadapters.ErrTask, t.Template, t.Split)
}

func (e *environment) tab() *browser.Tab { return e.place.Tab }

// eval evaluates an expression that gives a pageState and keeps it.
func (e *environment) eval(ctx context.Context, expr string) error {
	var p pageState
	if err := e.tab().Eval(ctx, expr, &p); err != nil {
		e.spoiled = true
		return pageFault(err)
	}
	e.page = p
	return nil
}

// pageFault tells what a page's script threw, which it would throw again in any browser, from a browser that broke.
func pageFault(err error) error {
	if errors.Is(err, browser.ErrPage) && !strings.Contains(err.Error(), "kit is not defined") { // a tab without our page has broken
		return fmt.Errorf("%w: %w", envadapters.ErrTask, err)
	}
	return err
}

func (e *environment) Step(ctx context.Context, a domain.Action) (envadapters.Transition, error) {
	if e.ended {
		return envadapters.Transition{}, fault.New(fault.Fatal, "step after the episode's end")
	}
	e.steps++
	invalid, err := e.act(ctx, a)
	if err != nil {
		e.spoiled = true
		return envadapters.Transition{}, pageFault(err)
	}
	if err := e.eval(ctx, "kit.observe()"); err != nil {
		return envadapters.Transition{}, err
	}
	t := envadapters.Transition{Observation: e.page.Observation, Invalid: invalid, Terminated: e.page.Over || a.Type == domain.ActionStatus}
	t.Truncated = !t.Terminated && e.steps >= e.task.MaxSteps
	e.ended = t.Terminated || t.Truncated
	if e.success() {
		t.Reward = 1
	}
	return t, nil
}

// act executes one action with real input events. A mistake of the agent is returned as its reason; nothing is executed then.
func (e *environment) act(ctx context.Context, a domain.Action) (invalid string, err error) {
	switch a.Type {
	case domain.ActionClick, domain.ActionLongPress, domain.ActionDoubleTap, domain.ActionInputText:
		el, ok := e.page.Element(*a.Index)
		if !ok || !el.Visible {
			return fmt.Sprintf("no visible element has index %d", *a.Index), nil
		}
		if a.Type == domain.ActionInputText && !el.Editable {
			return fmt.Sprintf("element %d takes no text", *a.Index), nil
		}
		return "", e.touch(ctx, a, float64(el.Bounds[0])+float64(el.Bounds[2])/2, float64(el.Bounds[1])+float64(el.Bounds[3])/2)
	case domain.ActionStatus:
		e.said = a.GoalStatus == domain.StatusComplete
		return "", nil
	case domain.ActionAnswer:
		return "", e.tab().Eval(ctx, "kit.answer("+quote(a.Text)+")", nil)
	case domain.ActionEnter:
		return "", e.then(ctx, e.tab().Enter(ctx))
	case domain.ActionBack:
		return "", e.tab().Eval(ctx, "kit.back()", nil)
	case domain.ActionScroll, domain.ActionSwipe:
		return "", e.scroll(ctx, a)
	case domain.ActionWait:
		return "", e.tab().Advance(ctx, time.Second)
	case domain.ActionNone:
		return "", nil
	case domain.ActionHome, domain.ActionOpenApp:
		return "this device shows one app only", nil
	}
	return fmt.Sprintf("unknown action type %q", a.Type), nil
}

func (e *environment) touch(ctx context.Context, a domain.Action, x, y float64) error {
	hold := time.Duration(0)
	if a.Type == domain.ActionLongPress {
		hold = holdTime
	}
	err := e.tab().Press(ctx, x, y, 1, hold)
	if err == nil && a.Type == domain.ActionDoubleTap {
		err = e.tab().Press(ctx, x, y, 2, 0)
	}
	if err == nil && a.Type == domain.ActionInputText {
		if err = e.tab().Eval(ctx, "document.activeElement.select && document.activeElement.select()", nil); err == nil {
			err = e.tab().Insert(ctx, a.Text)
		}
	}
	return e.then(ctx, err)
}

// then lets the page settle after an input event.
func (e *environment) then(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	return e.tab().Advance(ctx, settle)
}

// scroll moves by three quarters of the screen: the finger goes the other way. A swipe names the finger's own direction.
func (e *environment) scroll(ctx context.Context, a domain.Action) error {
	d := map[string][2]float64{"down": {0, 1}, "up": {0, -1}, "right": {1, 0}, "left": {-1, 0}}[a.Direction]
	if a.Type == domain.ActionSwipe {
		d = [2]float64{-d[0], -d[1]}
	}
	const share = 0.75 / 2 // from the middle, to either side
	x, y := d[0]*browser.Width*share, d[1]*browser.Height*share
	return e.then(ctx, e.tab().Swipe(ctx, browser.Width/2+x, browser.Height/2+y, browser.Width/2-x, browser.Height/2-y))
}

// success: apps need the state and the agent's own word, widgets end by themselves.
func (e *environment) success() bool { return e.page.Done && (e.page.Over || e.said) }

func (e *environment) Score(context.Context) (envadapters.Score, error) {
	raw := 0.0
	if e.page.Done {
		raw = 1
	}
	return envadapters.Score{Success: e.success(), Raw: raw}, nil
}

// Advise gives the first of Right.
func (e *environment) Advise() (domain.Action, bool) {
	if len(e.page.Right) == 0 {
		return domain.Action{}, false
	}
	return e.page.Right[0], true
}

// Right lists the actions that help at the current state; empty when none is known to (the state cannot be repaired).
func (e *environment) Right() []domain.Action { return e.page.Right }

// Screenshot gives the current screen as PNG.
func (e *environment) Screenshot(ctx context.Context) ([]byte, error) { return e.tab().Screenshot(ctx) }

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
