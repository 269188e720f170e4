package workflows

import (
	"cmp"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
)

// window lets some pieces of work, such as episodes or batches, be open at once. None begins while a person holds the
// run, or once the window is drained.
type window struct {
	size    int // of pieces that may be open at once
	open    int
	paused  bool
	drained bool

	progress *Progress // of the work, whose time does not include pauses

	// pass passes a signal on to the open children of the workflow. If it is nil, there are no children.
	pass func(ctx workflow.Context, signal string, value any)
}

// listen receives pauses.
func (w *window) listen(ctx workflow.Context) {
	workflow.Go(ctx, func(ctx workflow.Context) {
		var held time.Time // when the pause began
		for paused := false; workflow.GetSignalChannel(ctx, signalPause).Receive(ctx, &paused); {
			now := workflow.Now(ctx)
			switch {
			case paused && !w.paused:
				held = now
			case w.paused && !paused && w.progress.Since.Before(held):
				w.progress.Since = w.progress.Since.Add(now.Sub(held))
			case w.paused && !paused:
				w.progress.Since = now
			}
			w.paused = paused
			w.passOn(ctx, signalPause, paused)
		}
	})
}

// follow receives pauses, other sizes and the end of the window. sizeOf returns the size by the window of a
// specification.
func (w *window) follow(ctx workflow.Context, sizeOf func(window int) int) {
	w.listen(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for n := 0; workflow.GetSignalChannel(ctx, signalWindow).Receive(ctx, &n); {
			w.size = sizeOf(n)
			w.passOn(ctx, signalWindow, n)
		}
	})
	workflow.Go(ctx, func(ctx workflow.Context) {
		workflow.GetSignalChannel(ctx, signalDrain).Receive(ctx, &w.drained)
		w.passOn(ctx, signalDrain, true)
	})
}

// passOn passes a signal on to the children, if there are any.
func (w *window) passOn(ctx workflow.Context, signal string, value any) {
	if w.pass != nil {
		w.pass(ctx, signal, value)
	}
}

// free waits until the run is not held, or the window is drained.
func (w *window) free(ctx workflow.Context) error {
	return workflow.Await(ctx, func() bool { return !w.paused || w.drained })
}

// each does pieces 0 to n-1 in order, as many at once as the window lets, and returns when those that began have ended.
// Once one has failed, no other begins; its error is returned.
func (w *window) each(ctx workflow.Context, n int, do func(ctx workflow.Context, i int) error) error {
	var first error
	own := 0
	over := func() bool { return w.drained || first != nil }
	for i := range n {
		next := func() bool { return over() || w.open < w.size && !w.paused }
		if err := workflow.Await(ctx, next); err != nil {
			return err
		}
		if over() {
			break
		}

		w.open++
		own++
		workflow.Go(ctx, func(ctx workflow.Context) {
			err := do(ctx, i)
			w.open--
			own--
			if err != nil && first == nil {
				first = err
			}
		})
	}
	err := workflow.Await(ctx, func() bool { return own == 0 })

	return cmp.Or(first, err)
}

// eachAgain is each for pieces that workers refuse while a person holds the run: they are done again after a resume.
func (w *window) eachAgain(ctx workflow.Context, n int, do func(ctx workflow.Context, i int) error) error {
	return w.each(ctx, n, func(ctx workflow.Context, i int) error {
		return w.repeat(ctx, func() error { return do(ctx, i) })
	})
}

// A worker reads in the store that a person holds the run. The workflow learns of that by a signal, which may come a
// little later. If it does not come, the run finds out why: see runState.replan.
const (
	heldPause = 5 * time.Second
	heldTries = 6
)

// repeat does a piece, and does it again after a resume if its worker found the run held. A drained window forgets it.
func (w *window) repeat(ctx workflow.Context, do func() error) error {
	for tries := 0; ; {
		err := do()
		if !isHeld(err) || tries == heldTries {
			return err
		}
		if !w.paused {
			tries++
			if _, err := workflow.AwaitWithTimeout(ctx, heldPause, func() bool { return w.paused }); err != nil {
				return err
			}
		}
		if err := w.free(ctx); err != nil {
			return err
		}
		if w.drained {
			return nil
		}
	}
}

// isHeld reports whether a worker began nothing because a person holds the run.
func isHeld(err error) bool {
	var app *temporal.ApplicationError

	return errors.As(err, &app) && app.Type() == activities.Held
}
