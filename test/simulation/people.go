package simulation

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workflows"
)

// who is the person who pauses and stops runs, and helper the person who looks after runs that wait for someone.
const (
	who    = "ann"
	helper = "ben"
)

// asks is how often a run may wait for a person before it has ended.
const asks = 30

// watch looks after the run every few hours, until ctx ends.
func (w *world) watch(ctx context.Context) {
	last := ""
	for n := 0; w.sleep(ctx, 6*time.Hour); {
		lctx, e := w.process("watch")
		reason := w.look(lctx)
		w.over(e, nil)
		e.cancel(nil)
		if reason != "" {
			n++
		}
		switch {
		case time.Since(w.began) > limit:
			w.violated("the run has not ended after %v: %s", limit, w.status())
			w.giveUp()

			return
		case n > asks:
			w.violated("a person is asked for the %dth time: %s; before that %s", n, reason, last)
			w.giveUp()

			return
		}
		last = cmp.Or(reason, last)
	}
}

// look inspects the run. If a fault holds it, and not a person, look follows the advice in the reason, resumes the run,
// and returns the reason.
func (w *world) look(ctx context.Context) string {
	if _, _, err := w.at(ctx, "look"); err != nil || w.isLost() || w.env.IsWorkflowCompleted() {
		return ""
	}
	st, err := w.ask()
	paused := strings.HasPrefix(st.Reason, who+":") && !strings.Contains(st.Reason, "meanwhile")
	if err != nil || !st.Held || paused {
		return ""
	}
	w.effect("a person was asked")
	if unclear.MatchString(st.Reason) {
		w.violated("the reason %q says nothing to a person", st.Reason)
	}
	for _, key := range advised(st.Reason) {
		if !w.isReadable(key) {
			w.s3.disk.put(key, nil)
		}
	}
	_, err = w.commands(ctx, workflows.UpdateResume)
	w.mu.Lock()
	w.note("a person was asked: %s; resumed: %v", st.Reason, err)
	w.mu.Unlock()

	return st.Reason
}

// unclear matches reasons that only repeat an error of a program.
var unclear = regexp.MustCompile(`^(canceled|context canceled|terminated|no such object|\w+Error.*)?$`)

// sleep waits for a time and reports whether ctx is still active.
func (w *world) sleep(ctx context.Context, duration time.Duration) bool {
	select {
	case <-time.After(duration):
		return true
	case <-ctx.Done():
		return false
	}
}

// giveUp ends a run that does not end by itself.
func (w *world) giveUp() {
	w.mu.Lock()
	w.failed = max(w.failed, w.failure)
	w.mu.Unlock()
	w.lose()
}

// errLost means that Temporal's data were lost before it answered.
var errLost = errors.New("simulation: Temporal did not answer")

// tells sends the run a command, and waits for the answer.
func (w *world) tells(ctx context.Context, update string, command any) (any, error) {
	if _, _, err := w.at(ctx, "ask to "+update); err != nil {
		return nil, err
	}
	if w.isLost() || w.env.IsWorkflowCompleted() {
		return nil, errLost
	}
	type answer struct {
		v   any
		err error
	}
	answers := make(chan answer, 1)
	w.env.UpdateWorkflow(update, "", &testsuite.TestUpdateCallback{
		OnReject:   func(err error) { answers <- answer{nil, err} },
		OnComplete: func(value any, err error) { answers <- answer{value, err} },
	}, command)
	select {
	case a := <-answers:
		return a.v, a.err
	case <-time.After(time.Hour):
		return nil, errLost
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// commands sends the run a command that has no other argument than the person's name and reason.
func (w *world) commands(ctx context.Context, update string) (any, error) {
	by := who
	if update == workflows.UpdateResume {
		by = helper
	}

	return w.tells(ctx, update, workflows.Command{Who: by, Why: "a simulation"})
}

// reported examines the error of an activity. If it holds the run, it must not advise deleting an intact object.
func (w *world) reported(err error) error {
	var failed *temporal.ApplicationError
	if err == nil || !errors.As(err, &failed) || !failed.NonRetryable() {
		return err
	}
	for _, key := range advised(failed.Message()) {
		if w.isReadable(key) {
			w.violated("the advice to delete %s, which is whole: %s", key, failed.Message())
		}
	}

	return err
}

var keys = regexp.MustCompile(`(blobs/[0-9a-f]{64}|(runs|lines)/[\w./-]+\.json)`)

// advised returns the objects that a reason advises to delete. It ignores advice not to delete something.
func advised(reason string) []string {
	if !strings.Contains(reason, "delete") || strings.Contains(reason, "Delete nothing") {
		return nil
	}

	return keys.FindAllString(reason, -1)
}

// isReadable reports whether an object and all that it refers to can be read.
func (w *world) isReadable(key string) bool {
	raw := w.s3.disk.get(key, 0).body
	if raw == nil || store.IsBlob(key) && store.Sum(raw) != strings.TrimPrefix(key, store.BlobPrefix) {
		return false
	}
	refs, err := verify.Inspect(key, raw)
	if err != nil {
		return false
	}
	for _, ref := range refs {
		if !w.isReadable(ref) {
			return false
		}
	}

	return true
}

// pause pauses the run for some days.
func (w *world) pause(ctx context.Context, days int) error {
	if w.stageNow() != running {
		return nil
	}
	if _, err := w.commands(ctx, workflows.UpdatePause); err != nil {
		if st, unknown := w.ask(); unknown != nil || !st.Paused { // it may have taken effect without being recorded
			return fault.As(fault.Transient, err)
		}
	}
	w.effect("a person paused the run")
	if !w.sleep(ctx, time.Duration(days)*24*time.Hour) {
		return context.Cause(ctx)
	}
	for {
		_, err := w.commands(ctx, workflows.UpdateResume)
		if err == nil || err.Error() == workflows.NotPaused || w.stageNow() != running {
			return nil // it may have been lost with Temporal's data, or the run has ended
		}
		if !w.sleep(ctx, time.Hour) { // for example, the resume could not be recorded
			return context.Cause(ctx)
		}
	}
}

// halt stops the run, unless it has ended, and returns when it is stopped. It repeats the command at growing intervals:
// without a worker, a run may take weeks to stop.
func (w *world) halt(ctx context.Context) (ok bool, err error) {
	for again := time.Minute; ; again = min(2*again, 12*time.Hour) {
		if now := w.stageNow(); now != running {
			return now == stopped, nil
		}
		if _, err := w.commands(ctx, workflows.UpdateStop); err != nil && ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if !w.sleep(ctx, again) {
			return false, context.Cause(ctx)
		}
	}
}

// set changes a value on which no digest depends.
func (w *world) set(ctx context.Context) error {
	if w.stageNow() != running {
		return nil
	}
	_, err := w.tells(ctx, workflows.UpdateSet, workflows.SetCommand{
		Command: workflows.Command{Who: who, Why: "a simulation"}, Values: map[string]string{"window": "2"},
	})
	if err != nil {
		return fault.As(fault.Transient, err)
	}
	w.effect("a person changed a value")

	return nil
}
