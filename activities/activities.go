// Package activities holds the effects of a run as Temporal activities. Each is recorded once: it may run twice,
// concurrently or half. An activity is a thin shell around a rule of the method: it reads its inputs, applies the rule
// and records the result.
package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/failpoint"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/policy/endpoints"
)

// Emit sends an event of a run to its viewers. Events may be lost. If it is nil, none are sent.
type Emit func(run string, e events.Event)

func (f Emit) send(run string, e events.Event) {
	if f != nil {
		f(run, e)
	}
}

// Task queues, and roles of workers, except that the role control serves QueueCare, too.
const (
	QueueControl = "control" // what is short
	QueueCare    = "care"    // what may be long: it keeps nothing waiting that a person waits for
	QueueRollout = "rollout"
	QueueModel   = "model"
	QueueGPU     = "gpu"
)

// say reports the newest progress of an activity in a few words. It appears in the activity's heartbeat.
type say func(line string)

// do runs the body of an activity: it heartbeats as long as the body makes progress, logs how it ended, and maps the
// error for Temporal. It cancels a body that says nothing for longer than its kind of work may.
func do[T any](ctx context.Context, log *slog.Logger, body func(ctx context.Context, say say) (T, error)) (T, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tell, stop := heartbeat(ctx, cancel, silenceOf(queueOf(ctx)))
	defer stop()
	ctx = endpoints.WithProgress(ctx, tell)

	began, name, since := time.Now(), nameOf(ctx), absentSince(ctx)
	err := failpoint.Hit("begin." + name)
	var v T
	if err == nil {
		v, err = body(ctx, tell)
	}
	if err == nil {
		err = failpoint.Hit("end." + name)
	}
	if given := (silent{}); err != nil && errors.As(context.Cause(ctx), &given) {
		err = fault.New(fault.Transient, "%w", given)
	}
	stop() // no later heartbeat may replace the one that patient records
	if errors.Is(err, errHeld) {
		log.Info("nothing begins: a person holds the run")
	} else if err = patient(ctx, since, err); err != nil {
		log.Warn("activity failed", "kind", fault.KindOf(err), "error", err)
	} else {
		log.Info("activity completed", "took", time.Since(began).Round(time.Millisecond))
	}

	return v, mapped(err, attemptOf(ctx))
}

// nameOf returns the name of the activity that runs, for failpoints.
func nameOf(ctx context.Context) string {
	if !activity.IsActivity(ctx) { // benchmarks call activities directly
		return ""
	}

	return activity.GetInfo(ctx).ActivityType.Name
}

// queueOf returns the task queue of the activity that runs.
func queueOf(ctx context.Context) string {
	if !activity.IsActivity(ctx) {
		return ""
	}

	return activity.GetInfo(ctx).TaskQueue
}

// attemptOf returns the number of this try of the activity that runs, from 1.
func attemptOf(ctx context.Context) int32 {
	if !activity.IsActivity(ctx) {
		return 1
	}

	return activity.GetInfo(ctx).Attempt
}

// mapped maps an error of a try of an activity to Temporal's: its kind is the error's type, and retries follow from the
// kind.
func mapped(err error, attempt int32) error {
	var canceled *temporal.CanceledError
	if err == nil || errors.As(err, &canceled) || errors.Is(err, context.Canceled) {
		return err
	}

	if errors.Is(err, errHeld) {
		return temporal.NewNonRetryableApplicationError(err.Error(), Held, nil)
	}
	kind, wait := fault.KindOf(err), fault.RetryAfter(err)
	text := strings.ToValidUTF8(err.Error(), "\uFFFD") // Temporal refuses others, and then nobody learns why it failed
	if text != err.Error() {
		err = errors.New(text)
	}
	o := temporal.ApplicationErrorOptions{NonRetryable: !retryable(kind), Cause: err}
	if kind == fault.Throttled {
		after := cmp.Or(wait, throttledPause)
		o.NextRetryDelay = max(min(after, maxRetryAfter), usualPause(attempt))
	}

	return temporal.NewApplicationErrorWithOptions(text, string(kind), o)
}

// retryable reports, for the whole system, whether another try can help against a kind of fault.
func retryable(k fault.Kind) bool {
	switch k {
	case fault.Invalid, fault.Refused, fault.Corrupt, fault.Fatal, fault.Exhausted:
		return false
	}

	return true
}

// usualPause is the pause after a try that failed for another reason, as workflows ask for it. Throttled ones are not
// shorter: a server that says "in five seconds" for hours would use up all tries in minutes.
func usualPause(attempt int32) time.Duration {
	return min(time.Second<<min(attempt-1, 5), 30*time.Second)
}

// A throttled activity waits this long before its next try: as long as the server asks for, or a default time.
const (
	throttledPause = 5 * time.Second
	maxRetryAfter  = 10 * time.Minute
)

// MaxTries is the number of tries of an activity before the run pauses with the reason: with pauses of up to 30 s, they
// outlast an outage of about 18 minutes.
const MaxTries = 40

// heartbeatEvery returns the time between two heartbeats inside of this process. The SDK sends the first, and then one
// in 80 % of the timeout: each is a write of the server, and an activity that ends before the first one costs none.
func heartbeatEvery(ctx context.Context) time.Duration {
	const usual = 15 * time.Second
	if !activity.IsActivity(ctx) {
		return usual
	}

	return cmp.Or(activity.GetInfo(ctx).HeartbeatTimeout/4, usual)
}

// The time after which an activity that says nothing counts as hung, wherever it hangs.
const (
	controlSilence = 5 * time.Minute
	playSilence    = 15 * time.Minute  // waits for models and environments say so
	jobSilence     = 100 * time.Minute // a training program loads its model, and says nothing meanwhile
)

// silenceOf returns how long an activity of a task queue may say nothing.
func silenceOf(queue string) time.Duration {
	switch queue {
	case QueueControl, QueueCare:
		return controlSilence
	case QueueGPU:
		return jobSilence
	}

	return playSilence
}

// silent is the error of an activity that was given up after a time without a word.
type silent struct{ after time.Duration }

func (e silent) Error() string {
	return fmt.Sprintf("no progress for %v: the activity is given up and tried again", e.after)
}

// heartbeat beats from its own goroutine until stop is called, with the newest line that was said. A heartbeat means
// progress: if nothing is said for maxSilence, it gives the activity up and stops beating. An activity that ends before
// the first beat costs the server no write. After stop, which may be repeated, there is no beat.
func heartbeat(
	ctx context.Context, giveUp context.CancelCauseFunc, maxSilence time.Duration,
) (tell func(string), stop func()) {
	var mu sync.Mutex
	line, said := "started", time.Now()
	end, ended := make(chan struct{}), make(chan struct{})

	go func() {
		defer close(ended)
		t := time.NewTicker(heartbeatEvery(ctx))
		defer t.Stop()
		for {
			select {
			case <-t.C:
				mu.Lock()
				now, silence := line, time.Since(said)
				mu.Unlock()
				if silence > maxSilence {
					giveUp(silent{maxSilence})

					return
				}
				activity.RecordHeartbeat(ctx, now)
			case <-end:
				return
			}
		}
	}()

	tell = func(s string) {
		mu.Lock()
		defer mu.Unlock()
		line, said = s, time.Now()
	}

	return tell, sync.OnceFunc(func() {
		close(end)
		<-ended
	})
}

// parallelReads is the number of objects that are read concurrently.
const parallelReads = 8

// Hostname returns the name of this machine, for people.
func Hostname() string {
	h, err := os.Hostname()
	if err != nil {
		return "unknown"
	}

	return h
}
