// Package activities is what all Temporal activities of a process share: how an activity runs, and what the process
// knows of the runs that it works for. Each package below it holds the effects of a part of a run.
//
// Each effect is recorded once, because an activity may run twice, concurrently, or be cut short. An activity is a thin
// shell around a rule of the method: it reads its inputs, applies the rule and records the result.
package activities

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/failpoint"
	"github.com/collabui/collabui/internal/policy/endpoints"
)

// Progress reports the newest progress of an activity in a few words, which appear in the activity's heartbeat.
type Progress func(line string)

// Do runs the body of an activity: it heartbeats as long as the body makes progress, logs how the body ended, and maps
// the error for Temporal. It cancels a body that reports no progress for longer than its kind of work may.
func Do[T any](
	ctx context.Context, log *slog.Logger, body func(ctx context.Context, progress Progress) (T, error),
) (T, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	progress, stop := heartbeat(ctx, cancel, maxSilence(queueOf(ctx)))
	defer stop()
	ctx = endpoints.WithProgress(ctx, progress)

	start := time.Now()
	name := NameOf(ctx)
	absentSince := absenceBegan(ctx)
	err := failpoint.Hit("begin." + name)
	var result T
	if err == nil {
		result, err = body(ctx, progress)
	}
	if err == nil {
		err = failpoint.Hit("end." + name)
	}
	if hung := (hungError{}); err != nil && errors.As(context.Cause(ctx), &hung) {
		err = fault.New(fault.Transient, "%w", hung)
	}
	stop() // no later heartbeat may replace the one that waitForAbsent records
	if !errors.Is(err, errHeld) {
		err = waitForAbsent(ctx, absentSince, err)
	}

	switch {
	case errors.Is(err, errHeld):
		log.Info("nothing begins: a person holds the run")
	case err != nil:
		log.Warn("activity failed", "kind", fault.KindOf(err), "error", err)
	default:
		log.Info("activity completed", "took", time.Since(start).Round(time.Millisecond))
	}

	return result, Mapped(ctx, err)
}

// NameOf returns the name of the activity that runs.
func NameOf(ctx context.Context) string {
	if !activity.IsActivity(ctx) { // benchmarks call activities directly
		return ""
	}

	return activity.GetInfo(ctx).ActivityType.Name
}

// Hostname returns the name of this machine, for people.
func Hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}

	return name
}
