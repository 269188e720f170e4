package webtasks

import (
	"context"
	"fmt"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/browser"
)

// How long the page's own clock runs, in page time.
const (
	settle   = 50 * time.Millisecond  // after every input event
	holdTime = 600 * time.Millisecond // during a long press
	waitTime = time.Second            // for the action wait
)

// selectAll selects the contents of the focused field, so that typed text replaces them.
const selectAll = "document.activeElement.select && document.activeElement.select()"

// act executes one action with real input events. If the action is a mistake of the agent, it returns the reason and
// executes nothing.
func (e *environment) act(ctx context.Context, action domain.Action) (invalid string, err error) {
	if action.Type == domain.ActionNone {
		return "", nil
	}
	if err := action.Validate(); err != nil || !action.InFamily(domain.FamilyMobile) {
		return action.JSON() + " is not a mobile action", nil
	}
	switch action.Type {
	case domain.ActionClick, domain.ActionLongPress, domain.ActionDoubleTap, domain.ActionInputText:
		return e.use(ctx, action)
	case domain.ActionStatus:
		e.declared = action.GoalStatus
		return "", nil
	case domain.ActionAnswer:
		return "", e.Tab().Eval(ctx, "kit.answer("+browser.Quote(action.Text)+")", nil)
	case domain.ActionEnter:
		return "", e.then(ctx, e.Tab().Enter(ctx))
	case domain.ActionBack:
		return "", e.Tab().Eval(ctx, "kit.back()", nil)
	case domain.ActionScroll, domain.ActionSwipe:
		return "", e.scroll(ctx, action)
	case domain.ActionWait:
		return "", e.Tab().Advance(ctx, waitTime)
	case domain.ActionHome, domain.ActionOpenApp:
		return "this device shows one app only", nil
	}

	return fmt.Sprintf("unknown action type %q", action.Type), nil
}

// use executes an action on an element.
func (e *environment) use(ctx context.Context, action domain.Action) (invalid string, err error) {
	el, ok := e.page.Element(*action.Index)
	if !ok || !el.Visible {
		return fmt.Sprintf("no visible element has index %d", *action.Index), nil
	}

	if action.Type == domain.ActionInputText && !el.Editable {
		return fmt.Sprintf("element %d takes no text", *action.Index), nil
	}

	x := float64(el.Bounds[0]) + float64(el.Bounds[2])/2
	y := float64(el.Bounds[1]) + float64(el.Bounds[3])/2
	e.touched = browser.Touch(x, y)

	return "", e.then(ctx, e.touch(ctx, action, x, y))
}

func (e *environment) touch(ctx context.Context, action domain.Action, x, y float64) error {
	hold := time.Duration(0)
	if action.Type == domain.ActionLongPress {
		hold = holdTime
	}

	err := e.Tab().Press(ctx, x, y, 1, hold)
	if err == nil && action.Type == domain.ActionDoubleTap {
		err = e.Tab().Press(ctx, x, y, 2, 0)
	}

	if err != nil || action.Type != domain.ActionInputText {
		return err
	}

	if err := e.Tab().Eval(ctx, selectAll, nil); err != nil {
		return err
	}

	return e.Tab().Insert(ctx, action.Text)
}

// then lets the page settle after an input event.
func (e *environment) then(ctx context.Context, err error) error {
	if err != nil {
		return err
	}

	return e.Tab().Advance(ctx, settle)
}

// scroll moves the content by three quarters of the screen. The finger moves against the direction of a scroll.
func (e *environment) scroll(ctx context.Context, action domain.Action) error {
	const share = 0.75 / 2 // from the middle to either side

	dx, dy := browser.Direction(action)
	x := float64(dx) * browser.Width * share
	y := float64(dy) * browser.Height * share
	x0 := browser.Width/2 + x
	y0 := browser.Height/2 + y
	x1 := browser.Width/2 - x
	y1 := browser.Height/2 - y
	e.touched = browser.Swiped(x0, y0, x1, y1)
	err := e.Tab().Swipe(ctx, x0, y0, x1, y1)

	return e.then(ctx, err)
}
