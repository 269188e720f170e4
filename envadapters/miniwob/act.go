package miniwob

import (
	"context"
	"fmt"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/browser"
	"github.com/collabui/collabui/fault"
)

// How long the page's own clock runs, in page time. The pages animate menus, accordions and dialogs for up to 400 ms.
const (
	settle   = 500 * time.Millisecond // after every action
	holdTime = 600 * time.Millisecond // during a long press
	waitTime = time.Second            // for the action wait
)

// act executes one action with real input events. If the action is a mistake of the agent, it returns the reason and
// executes nothing.
func (e *environment) act(ctx context.Context, action domain.Action) (invalid string, err error) {
	el, invalid := e.target(action)
	if invalid != "" {
		return invalid, nil
	}
	if action.Index != nil {
		e.touched = browser.Touch(el.Tap[0], el.Tap[1])
	}

	opened := false // whether a list of options was open; an action on anything but an option closes it
	if action.Index == nil || el.By != byOption {
		if err := e.eval(ctx, "collabui.close()", &opened); err != nil {
			return "", err
		}
	}

	switch action.Type {
	case domain.ActionClick, domain.ActionLongPress, domain.ActionDoubleTap:
		if opened {
			return "", e.pass(ctx, settle) // a tap next to an open list only closes it
		}
		if el.By == byOption || el.By == byList && !el.Occluded {
			return e.ask(ctx, fmt.Sprintf("collabui.use(%d)", el.Index))
		}
		return "", e.then(ctx, e.touch(ctx, action.Type, el))
	case domain.ActionInputText:
		if el.By == byList || el.By == byPicker {
			return e.ask(ctx, fmt.Sprintf("collabui.enter(%d, %s)", el.Index, browser.Quote(action.Text)))
		}
		return "", e.then(ctx, e.write(ctx, el, action.Text))
	case domain.ActionEnter:
		return "", e.then(ctx, e.Tab().Enter(ctx))
	case domain.ActionScroll, domain.ActionSwipe:
		return "", e.then(ctx, e.scroll(ctx, action))
	case domain.ActionWait:
		return "", e.pass(ctx, waitTime)
	case domain.ActionHome:
		if e.mobile() {
			e.left = true
			return "", nil
		}
		return "there is no home screen", nil
	case domain.ActionBack, domain.ActionStatus, domain.ActionNone:
		return "", nil // Back only closes an open list: a page has no history
	case domain.ActionAnswer, domain.ActionOpenApp:
		return "this app takes no " + action.Type, nil
	}

	return "", fault.New(fault.Fatal, "miniwob does not know the valid action %s", action.JSON())
}

// target returns the element that an action names, if it names one, or the reason why the action cannot be executed.
func (e *environment) target(a domain.Action) (el element, invalid string) {
	if err := a.Validate(); !a.InFamily(domain.FamilyMobile) || err != nil && a.Type != domain.ActionNone {
		return el, fmt.Sprintf("%s is no mobile action: %v", a.JSON(), err)
	}

	if a.Index != nil {
		if *a.Index < 0 || *a.Index >= len(e.page.Elements) || !e.page.Elements[*a.Index].Visible {
			return el, fmt.Sprintf("no visible element has index %d", *a.Index)
		}
		el = e.page.Elements[*a.Index]
	}

	if a.Type == domain.ActionInputText && !el.Editable && el.By != byList {
		return el, fmt.Sprintf("element %d takes no text", el.Index)
	}

	return el, ""
}

// then lets the page run for a while after an input event.
func (e *environment) then(ctx context.Context, err error) error {
	if err != nil {
		return err
	}

	return e.pass(ctx, settle)
}

// The time after an action has three parts. First, timers run for soon. Then the browser draws for draw of its own
// time, so that the page notices scrolls and the element under the mouse. Finally, timers run for the rest without
// drawing, because the time of a frame is unpredictable.
const (
	soon = 100 * time.Millisecond
	draw = 100 * time.Millisecond
)

// pass lets the page run for duration of page time.
func (e *environment) pass(ctx context.Context, duration time.Duration) error {
	if err := e.run(ctx, soon); err != nil {
		return err
	}

	if err := e.Tab().Hover(ctx, e.pointer[0], e.pointer[1], draw); err != nil {
		return err
	}

	return e.run(ctx, duration-soon)
}

// run lets the page's timers run for duration of page time.
func (e *environment) run(ctx context.Context, duration time.Duration) error {
	return e.eval(ctx, fmt.Sprintf("collabui.run(%d)", duration.Milliseconds()), nil)
}

// corner returns a point outside of every page.
func corner(view browser.View) [2]float64 {
	return [2]float64{float64(view.Width - 1), float64(view.Height - 1)}
}

// ask evaluates a call that returns the reason why it did nothing, or an empty text.
func (e *environment) ask(ctx context.Context, call string) (invalid string, err error) {
	if err := e.eval(ctx, call, &invalid); err != nil {
		return "", err
	}

	return invalid, e.pass(ctx, settle)
}

func (e *environment) touch(ctx context.Context, kind string, el element) error {
	e.pointer = el.Tap
	x := el.Tap[0]
	y := el.Tap[1]

	if err := e.Tab().Down(ctx, x, y, 1); err != nil {
		return err
	}

	if kind == domain.ActionLongPress {
		if err := e.run(ctx, holdTime); err != nil {
			return err
		}
	}

	err := e.Tab().Up(ctx, x, y, 1)
	if err == nil && kind == domain.ActionDoubleTap {
		err = e.Tab().Press(ctx, x, y, 2, 0)
	}

	return err
}

// write replaces the contents of a field.
func (e *environment) write(ctx context.Context, el element, text string) error {
	if err := e.touch(ctx, domain.ActionClick, el); err != nil {
		return err
	}

	if err := e.eval(ctx, "collabui.mark()", nil); err != nil {
		return err
	}

	if err := e.Tab().Type(ctx, text); err != nil || !e.mobile() {
		return err
	}

	return e.Tab().Enter(ctx)
}

// scroll reveals content in a direction.
func (e *environment) scroll(ctx context.Context, action domain.Action) error {
	i := -1
	if action.Index != nil {
		i = *action.Index
		if !e.mobile() {
			e.pointer = e.page.Elements[i].Tap // the wheel scrolls what is under the mouse
		}
	}

	dx, dy := browser.Direction(action)
	var moved []float64 // from where to where a finger would have moved the content; empty if nothing scrolled
	err := e.eval(ctx, fmt.Sprintf("collabui.scroll(%d, %d, %d)", i, dx, dy), &moved)
	if len(moved) == 4 {
		e.touched = browser.Swiped(moved[0], moved[1], moved[2], moved[3])
	}

	return err
}
