package external

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
)

// defaultLook is the time between looks at a program's folder.
const defaultLook = 500 * time.Millisecond

// errDone ends a program that has done what is needed: it has reached Job.Until, or its loss is not a number.
var errDone = errors.New("the program has done what is needed")

// follow looks at the folder until the program ends, which gone reports, or must be ended: it has done what is needed,
// trains on the wrong data, hangs, or the context ends. running ends with the program.
func (w *watch) follow(ctx, running context.Context, exit <-chan error) (gone bool, why error) {
	look := w.t.Look
	if look == 0 {
		look = defaultLook
	}

	sign := ""
	at := time.Now()
	for {
		select {
		case err := <-exit:
			w.passOn()

			return true, err
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(look):
		}

		passed := w.passed
		if err := w.look(running); err != nil {
			return false, err
		}

		if text := w.sign(); text != sign {
			sign = text
			at = time.Now()
			if w.passed == passed {
				w.progress(w.newest)
			}
		}
		if w.cmd.Stall > 0 && time.Since(at) > w.cmd.Stall {
			return false, fault.New(fault.Throttled, "%s showed no sign of life for %v; it was ended, "+
				"and resumes from its newest checkpoint", w.cmd.Args[0], w.cmd.Stall)
		}
	}
}

// look passes on new points, stores new checkpoints as long as the program runs, and returns an error if it must be
// ended.
func (w *watch) look(running context.Context) error {
	if w.passOn() {
		return errDone // collect reports that the job diverged.
	}
	if err := w.store(running, false); err != nil && running.Err() == nil {
		w.note("store a checkpoint: %v", err) // The next look tries again.
	}
	if w.end < w.cmd.Total && w.stored[w.end] || w.cmd.Shares != "" && w.finished() {
		return errDone
	}

	return w.t.Tool.Alarm(w.f, w.said())
}

// sign changes as long as the program makes visible progress.
func (w *watch) sign() string {
	text := fmt.Sprint(w.passed, len(w.stored))
	if st, err := w.log.Stat(); err == nil {
		text += fmt.Sprint(" ", st.Size()-w.noted)
	}

	return text
}

// passOn passes on new points, and reports whether the loss is no longer a number.
func (w *watch) passOn() (diverged bool) {
	points := w.t.Tool.Points(w.f)
	for _, point := range points[min(w.passed, len(points)):] {
		if point.Step > w.end {
			continue // The program is already past the end of this run.
		}
		point.Steps = w.cmd.Total
		w.newest = point
		w.progress(point)
		diverged = diverged || notNumber(point)
	}
	w.passed = len(points)

	return diverged
}

func notNumber(point domain.TrainPoint) bool {
	return math.IsNaN(point.Loss+point.Margin) || math.IsInf(point.Loss+point.Margin, 0)
}
