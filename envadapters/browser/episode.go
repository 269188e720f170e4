package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// Episode is the part of an environment that does not depend on its pages: the place, the task and the end of an
// episode. Environments embed it. One goroutine uses it at a time.
type Episode struct {
	Place *Place
	Task  domain.Task

	pool   *Pool
	global string // the object that every sound page of the suite defines
	steps  int
	ended  bool

	closed  bool
	spoiled bool // an error left the tab in an unknown state
}

// Episode waits for a free place. global is the name of an object that the suite's pages define; a tab without it is
// broken.
func (p *Pool) Episode(ctx context.Context, global string) (*Episode, error) {
	place, err := p.take(ctx)
	if err != nil {
		return nil, err
	}

	return &Episode{Place: place, pool: p, global: global}, nil
}

// Tab returns the tab of the episode, or nil before the first call of Prepare.
func (e *Episode) Tab() *Tab { return e.Place.Tab }

// Begin begins the episode of a task. It fails after Close.
func (e *Episode) Begin(task domain.Task) error {
	if e.closed {
		return fault.New(fault.Fatal, "reset of a closed environment")
	}

	e.Task = task
	e.steps = 0
	e.ended = false

	return nil
}

// Prepare opens a tab unless the place has one.
func (e *Episode) Prepare(open func(*Browser) (*Tab, error)) error { return e.Place.prepare(open) }

// BeginStep counts a step. It fails after the end of the episode.
func (e *Episode) BeginStep() error {
	if e.ended {
		return fault.New(fault.Fatal, "step after the episode's end")
	}

	e.steps++

	return nil
}

// EndStep completes the transition of a step. over reports whether the page or the agent ended the episode, and success
// whether the goal is reached. If not over, the step budget may end the episode.
func (e *Episode) EndStep(tr envadapters.Transition, over, success bool) envadapters.Transition {
	tr.Terminated = over
	tr.Truncated = !over && e.steps >= e.Task.MaxSteps
	e.ended = tr.Terminated || tr.Truncated

	if success {
		tr.Reward = 1
	}

	return tr
}

// Spoil marks the tab as unusable and returns the error of the episode. An exception of a page's script would recur in
// any browser, so it is the task's fault; in a tab without the suite's pages it is the browser's.
func (e *Episode) Spoil(ctx context.Context, err error) error {
	e.spoiled = true
	if !errors.Is(err, ErrPage) {
		return err
	}

	var kind string
	if probe := e.Tab().Eval(ctx, "typeof "+e.global, &kind); probe != nil || kind == "undefined" {
		return err
	}

	return fmt.Errorf("%w: %w", envadapters.ErrTask, err)
}

// Screenshot returns the current screen as PNG. The tab is unusable after an error.
func (e *Episode) Screenshot(ctx context.Context) ([]byte, error) {
	png, err := e.Tab().Screenshot(ctx)
	if err != nil {
		err = e.Spoil(ctx, err)
	}

	return png, err
}

// Close returns the place to the pool. It closes the tab if its state is unknown. It may be repeated.
func (e *Episode) Close(context.Context) {
	if e.closed {
		return
	}

	e.closed = true
	e.pool.give(e.Place, !e.spoiled)
}

// Direction returns the direction, 1 or -1 in one coordinate, in which the content lies that a scroll or a swipe
// reveals. A swipe names the direction of the finger, which is the opposite one.
func Direction(action domain.Action) (dx, dy int) {
	switch action.Direction {
	case "down":
		dy = 1
	case "up":
		dy = -1
	case "right":
		dx = 1
	case "left":
		dx = -1
	}

	if action.Type == domain.ActionSwipe {
		return -dx, -dy
	}

	return dx, dy
}

// Touch returns where an action reached the screen, in CSS pixels.
func Touch(x, y float64) *domain.Touch { return &domain.Touch{At: pixel(x, y)} }

// Swiped returns where an action touched the screen that moved the finger from one point to another, in CSS pixels.
func Swiped(x0, y0, x1, y1 float64) *domain.Touch {
	to := pixel(x1, y1)

	return &domain.Touch{At: pixel(x0, y0), To: &to}
}

func pixel(x, y float64) [2]int { return [2]int{int(math.Round(x)), int(math.Round(y))} }

// Quote returns a text as a literal of JavaScript.
func Quote(text string) string {
	data, _ := json.Marshal(text) // a string always encodes
	return string(data)
}
