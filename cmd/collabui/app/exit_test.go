package app

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"go.temporal.io/api/serviceerror"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

func TestEveryErrorHasItsExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{fault.New(fault.Invalid, "x"), ExitInvalid},
		{fault.New(fault.Transient, "x: %w", errors.New("y")), ExitService},
		{fmt.Errorf("run: %w", store.ErrNotFound), ExitNotFound},
		{fault.New(fault.Corrupt, "x"), exitCorrupt},
		{fault.New(fault.Fatal, "x"), exitFatal},
		{fmt.Errorf("a: %w", errStopped), exitStopped},
		{fmt.Errorf("a: %w", ErrFailed), exitFailed},
		{io.ErrUnexpectedEOF, ExitService},
		{serviceerror.NewUnavailable("the shard is moving"), ExitService},
		{errors.Join(nil, fault.New(fault.Transient, "x")), ExitService},
		{fmt.Errorf("%w, then %w", errors.New("x"), errors.New("y")), ExitService},
	} {
		if got := ExitCode(c.err); got != c.want {
			t.Errorf("exitCode(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}
