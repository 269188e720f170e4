package activities

import (
	"errors"
	"testing"
	"time"
	"unicode/utf8"

	"go.temporal.io/sdk/temporal"

	"github.com/collabui/collabui/fault"
)

// TestAThrottledTryWaitsAsLongAsAnother: a server that always says "in a second" does not use up all tries at once.
func TestAThrottledTryWaitsAsLongAsAnother(t *testing.T) {
	for _, c := range []struct {
		after   time.Duration
		attempt int32
		want    time.Duration
	}{
		{0, 1, throttledPause},
		{time.Second, 1, time.Second},
		{time.Second, 4, 8 * time.Second},
		{time.Second, 39, 30 * time.Second},
		{time.Minute, 39, time.Minute},
		{time.Hour, 1, maxRetryAfter},
	} {
		err := mapped(fault.After(fault.Throttled, c.after, "busy"), c.attempt)
		var app *temporal.ApplicationError
		if !errors.As(err, &app) || app.NextRetryDelay() != c.want {
			t.Errorf("try %d, Retry-After %v: %v, want a pause of %v", c.attempt, c.after, err, c.want)
		}
	}
}

// TestTheTextOfAnErrorCanBeSent: Temporal refuses a failure whose text is not UTF-8, and its kind would be lost.
func TestTheTextOfAnErrorCanBeSent(t *testing.T) {
	cut := fault.New(fault.Invalid, "the page said %w", errors.New("中文"[:4]))
	err := mapped(cut, 1)
	var app *temporal.ApplicationError
	if !errors.As(err, &app) || app.Type() != string(fault.Invalid) || !app.NonRetryable() ||
		!utf8.ValidString(app.Error()) || !utf8.ValidString(app.Unwrap().Error()) {
		t.Errorf("mapped(%q) = %#v, want a failure of the same kind with valid texts", cut, err)
	}
}
