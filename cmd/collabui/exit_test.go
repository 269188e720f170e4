package main

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
		{fault.New(fault.Invalid, "x"), exitInvalid},
		{fault.New(fault.Transient, "x: %w", errors.New("y")), exitService},
		{fmt.Errorf("run: %w", store.ErrNotFound), exitNotFound},
		{fault.New(fault.Corrupt, "x"), exitCorrupt},
		{fault.New(fault.Fatal, "x"), exitFatal},
		{fmt.Errorf("a: %w", errStopped), exitStopped},
		{fmt.Errorf("a: %w", errFailed), exitFailed},
		{io.ErrUnexpectedEOF, exitService},
		{serviceerror.NewUnavailable("the shard is moving"), exitService},
		{errors.Join(nil, fault.New(fault.Transient, "x")), exitService},
		{fmt.Errorf("%w, then %w", errors.New("x"), errors.New("y")), exitService},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("exitCode(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}
