package miniwob

import (
	"context"
	"fmt"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/browser"
	"github.com/collabui/collabui/fault"
)

// How long the page's own clock runs, in page time. Menus, accordions and dialogs of the pages are animated for up to 400 ms.
const (
	settle   = 500 * time.Millisecond // after every action
	holdTime = 600 * time.Millisecond // a long press
	waitTime = time.Second            // the action wait
)

// act executes one action with real input events. A mistake of the agent is returned as its reason; nothing is executed then.
func (e *environment) act(ctx context.Context, a domain.Action) (invalid string, err error) {
	if err := a.Validate(); !a.InFamily(domain.FamilyMobile) || err != nil && a.Type != domain.ActionNone {
		return fmt.Sprintf("%s is no mobile action: %v", a.JSON(), err), nil
	}
	var el element
	if a.Index != nil {
		if *a.Index < 0 || *a.Index >= len(e.page.Elements) || !e.page.Elements[*a.Index].Visible {
			return fmt.Sprintf("no visible element has index %d", *a.Index), nil
		}
		el = e.page.Elements[*a.Index]
	}
	if a.Type == domain.ActionInputText && !el.Editable && el.By != "select" {
		return fmt.Sprintf("element %d takes no text", el.Index), nil
	}
	opened := false // a list of options was open; an action on no option closes it
	if a.Index == nil || el.By != "option" {
		if err := e.tab().Eval(ctx, "collabui.close()", &opened); err != nil {
			return "", err
		}
	}
	switch a.Type {
	case domain.ActionClick, domain.ActionLongPress, domain.ActionDoubleTap:
		if opened {
			return "", e.pass(ctx, settle) // as a tap beside a list does
		}
		if el.By == "option" || el.By == "select" && !el.Occluded {
			return e.ask(ctx, fmt.Sprintf("collabui.use(%d)", el.Index))
		}
		return "", e.then(ctx, e.touch(ctx, a.Type, el))
	case domain.ActionInputText:
		if el.By == "select" || el.By == "pick" {
			return e.ask(ctx, fmt.Sprintf("collabui.enter(%d, %s)", el.Index, quote(a.Text)))
		}
		return "", e.then(ctx, e.write(ctx, el, a.Text))
	case domain.ActionEnter:
		return "", e.then(ctx, e.tab().Enter(ctx))
	case domain.ActionScroll, domain.ActionSwipe:
		return "", e.then(ctx, e.scroll(ctx, a))
	case domain.ActionWait:
		return "", e.pass(ctx, waitTime)
	case domain.ActionHome:
		if e.mobile() {
			e.left = true
			return "", nil
		}
		return "there is no home screen", nil
	case domain.ActionBack, domain.ActionStatus, domain.ActionNone: // back closes an open list and does nothing else: a page has no history
		return "", nil
	case domain.ActionAnswer, domain.ActionOpenApp:
		return "this app takes no " + a.Type, nil
	}
	return "", fault.New(fault.Fatal, "miniwob does not know the valid action %s", a.JSON())
}

// then lets the page run for a while after an input event.
func (e *environment) then(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	return e.pass(ctx, settle)
}

// Of the time that passes after an action: timers run for soon, then the browser draws for draw of its own time, so that scrolls and the mouse's rest on what has come
// under it are noticed, then timers run for the rest. Nothing is drawn behind that, because no one can say when.
const (
	soon = 100 * time.Millisecond
	draw = 100 * time.Millisecond
)

// pass lets the page run for a while.
func (e *environment) pass(ctx context.Context, d time.Duration) error {
	if err := e.run(ctx, soon); err != nil {
		return err
	}
	if err := e.tab().Hover(ctx, e.pointer[0], e.pointer[1], draw); err != nil {
		return err
	}
	return e.run(ctx, d-soon)
}

// run lets the page's timers run.
func (e *environment) run(ctx context.Context, d time.Duration) error {
	return e.tab().Eval(ctx, fmt.Sprintf("collabui.run(%d)", d.Milliseconds()), nil)
}

// corner is a point beside every page.
func corner(v browser.View) [2]float64 {
	return [2]float64{float64(v.Width - 1), float64(v.Height - 1)}
}

// ask evaluates a call that gives why it did nothing, or an empty text.
func (e *environment) ask(ctx context.Context, call string) (invalid string, err error) {
	if err := e.tab().Eval(ctx, call, &invalid); err != nil {
		return "", err
	}
	return invalid, e.pass(ctx, settle)
}

func (e *environment) touch(ctx context.Context, kind string, el element) error {
	e.pointer = el.Tap
	x, y := el.Tap[0], el.Tap[1]
	if err := e.tab().Down(ctx, x, y, 1); err != nil {
		return err
	}
	if kind == domain.ActionLongPress {
		if err := e.run(ctx, holdTime); err != nil {
			return err
		}
	}
	err := e.tab().Up(ctx, x, y, 1)
	if err == nil && kind == domain.ActionDoubleTap {
		err = e.tab().Press(ctx, x, y, 2, 0)
	}
	return err
}

// write replaces what a field holds.
func (e *environment) write(ctx context.Context, el element, text string) error {
	if err := e.touch(ctx, domain.ActionClick, el); err != nil {
		return err
	}
	if err := e.tab().Eval(ctx, "collabui.mark()", nil); err != nil {
		return err
	}
	if err := e.tab().Type(ctx, text); err != nil || !e.mobile() {
		return err
	}
	return e.tab().Enter(ctx)
}

// scroll shows what lies in a direction; a swipe names the finger's own direction, which is the opposite one.
func (e *environment) scroll(ctx context.Context, a domain.Action) error {
	d := map[string][2]int{"down": {0, 1}, "up": {0, -1}, "right": {1, 0}, "left": {-1, 0}}[a.Direction]
	if a.Type == domain.ActionSwipe {
		d = [2]int{-d[0], -d[1]}
	}
	i := -1
	if a.Index != nil {
		i = *a.Index
		if !e.mobile() {
			e.pointer = e.page.Elements[i].Tap // a wheel turns where the mouse is
		}
	}
	return e.tab().Eval(ctx, fmt.Sprintf("collabui.scroll(%d, %d, %d)", i, d[0], d[1]), nil)
}
