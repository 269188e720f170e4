package webtasks

import (
	"context"
	"fmt"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/browser"
	"github.com/collabui/collabui/fault"
)

// fontsReady waits for the font of the pages. Without it a page has another layout.
const fontsReady = `document.fonts.load("15px webtasks").then(f => { if (!f.length) throw "no font" })`

// environment plays episodes in one tab, which it keeps between episodes.
type environment struct {
	*browser.Episode
	url      string
	words    string
	page     pageState
	declared string // the status that the agent declared

	touched *domain.Touch // where the action touched the screen
}

// pageState is the answer of kit.reset and kit.observe.
type pageState struct {
	Goal string `json:"goal"`
	domain.Observation
	Over  bool            `json:"over"`  // the page ended the episode
	Done  bool            `json:"done"`  // the state is the one that the goal demands
	Right []domain.Action `json:"right"` // the actions that help now

	Because    [][]int `json:"because"`    // for each of Right, the elements that support it
	Impossible bool    `json:"impossible"` // the goal cannot be reached; Done means that nothing was changed
}

// Replayable marks the environment: everything a page shows is a function of template, split, seed and actions.
func (e *environment) Replayable() {}

// Reset begins the episode of a task. A reset in place equals a fresh load.
func (e *environment) Reset(ctx context.Context, task domain.Task) (envadapters.Transition, error) {
	var none envadapters.Transition

	if err := e.Begin(task); err != nil {
		return none, err
	}

	if err := checkTask(task); err != nil {
		return none, err
	}

	open := func(b *browser.Browser) (*browser.Tab, error) { return b.Tab(ctx, e.url, fontsReady) }
	if err := e.Prepare(open); err != nil {
		return none, err
	}

	e.declared = ""
	reset := fmt.Sprintf("kit.reset(%s, %s, '%d', %s)",
		browser.Quote(task.Template), browser.Quote(task.Split), task.Seed, browser.Quote(e.words))
	if err := e.eval(ctx, reset); err != nil {
		return none, e.Spoil(ctx, err)
	}

	return envadapters.Transition{Goal: e.page.Goal, Observation: e.page.Observation}, nil
}

func checkTask(task domain.Task) error {
	all, err := templates()
	if err != nil {
		return err
	}

	for _, info := range all {
		if info.Name == task.Template && info.in(task.Split) {
			return nil
		}
	}

	return fault.New(fault.Invalid, "%w: webtasks has no template %q in split %q",
		envadapters.ErrTask, task.Template, task.Split)
}

// eval evaluates an expression whose value is a pageState and keeps it.
func (e *environment) eval(ctx context.Context, expr string) error {
	var state pageState
	if err := e.Tab().Eval(ctx, expr, &state); err != nil {
		return err
	}

	// A field filled by mistake would have to be emptied, but no valid action does that.
	for i := len(state.Right) - 1; i >= 0; i-- {
		if state.Right[i].Validate() != nil {
			state.Right = slices.Delete(state.Right, i, i+1)
			state.Because = slices.Delete(state.Because, i, i+1)
		}
	}

	e.page = state

	return nil
}

// Step executes one action and observes the page.
func (e *environment) Step(ctx context.Context, action domain.Action) (envadapters.Transition, error) {
	if err := e.BeginStep(); err != nil {
		return envadapters.Transition{}, err
	}

	e.touched = nil
	invalid, err := e.act(ctx, action)
	if err == nil {
		err = e.eval(ctx, "kit.observe()")
	}

	if err != nil {
		return envadapters.Transition{}, e.Spoil(ctx, err)
	}

	tr := envadapters.Transition{Observation: e.page.Observation, Invalid: invalid, Touch: e.touched}

	return e.EndStep(tr, e.page.Over || action.Type == domain.ActionStatus, e.success()), nil
}

// success reports whether the goal is reached. Apps need the right state and the agent's declaration; widgets end by
// themselves. A goal that cannot be reached needs the declaration that it is infeasible, and an untouched state.
func (e *environment) success() bool {
	if e.page.Impossible {
		return e.page.Done && e.declared == domain.StatusInfeasible
	}

	return e.page.Done && (e.page.Over || e.declared == domain.StatusComplete)
}

// Score grades the current state. Raw is 1 if the state is the one that the goal demands.
func (e *environment) Score(context.Context) (envadapters.Score, error) {
	raw := 0.0
	if e.page.Done {
		raw = 1
	}

	return envadapters.Score{Success: e.success(), Raw: raw}, nil
}

// Advise returns the first action of Right.
func (e *environment) Advise() (domain.Action, bool) {
	if len(e.page.Right) == 0 {
		return domain.Action{}, false
	}

	return e.page.Right[0], true
}

// Right returns the actions that help in the current state. It returns nothing if the state cannot be repaired.
func (e *environment) Right() []domain.Action { return e.page.Right }

// Because returns the elements that support the actions of Right. Those of the groups apps and widgets have none.
func (e *environment) Because() [][]int { return e.page.Because }
