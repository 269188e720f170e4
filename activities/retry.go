package activities

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/collabui/collabui/fault"
)

// Mapped maps an error of the activity that runs to an error of Temporal.
func Mapped(ctx context.Context, err error) error { return mapped(err, attemptOf(ctx)) }

// mapped maps the error of a try to an error of Temporal, whose type is the kind of the fault and decides about
// retries.
func mapped(err error, attempt int32) error {
	var canceled *temporal.CanceledError
	if err == nil || errors.As(err, &canceled) || errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(err, errHeld) {
		return temporal.NewNonRetryableApplicationError(err.Error(), Held, nil)
	}

	kind := fault.KindOf(err)
	wait := fault.RetryAfter(err)
	text := strings.ToValidUTF8(err.Error(), "\uFFFD") // Temporal refuses other texts, which would hide the reason
	if text != err.Error() {
		err = errors.New(text)
	}
	options := temporal.ApplicationErrorOptions{NonRetryable: !retryable(kind), Cause: err}
	if kind == fault.Throttled {
		after := cmp.Or(wait, throttledPause)
		options.NextRetryDelay = max(min(after, maxRetryAfter), UsualPause(attempt))
	}

	return temporal.NewApplicationErrorWithOptions(text, string(kind), options)
}

// retryable reports, for the whole system, whether another try can help against a kind of fault.
func retryable(kind fault.Kind) bool {
	switch kind {
	case fault.Invalid, fault.Refused, fault.Corrupt, fault.Fatal, fault.Exhausted:
		return false
	}

	return true
}

// UsualPause returns the pause after a try that failed for any reason but throttling, as the retry policy of workflows
// has it. Pauses after throttling are not shorter: a server that wants five seconds for hours would use up all tries in
// minutes.
func UsualPause(attempt int32) time.Duration {
	return min(time.Second<<min(attempt-1, 5), 30*time.Second)
}

// The pause after a throttled try: the default, and the longest that a server may request.
const (
	throttledPause = 5 * time.Second
	maxRetryAfter  = 10 * time.Minute
)

// MaxTries is the number of tries of an activity before the run pauses with the reason: with pauses of up to 30 s, they
// outlast an outage of about 18 minutes.
const MaxTries = 40

// attemptOf returns the number of the try of the activity that runs, from 1.
func attemptOf(ctx context.Context) int32 {
	if !activity.IsActivity(ctx) {
		return 1
	}

	return activity.GetInfo(ctx).Attempt
}
