package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// errAsked is the reason for an ordinary end.
var errAsked = errors.New("stopped on request")

// lifetime returns the context of the whole process. It ends at the first
// SIGTERM or SIGINT (the second one kills), with parentPipe also at EOF on
// standard input, and when the returned function is called with a reason.
func lifetime(parentPipe bool) (context.Context, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-signals
		signal.Stop(signals)
		end(errAsked)
	}()

	if parentPipe {
		go func() {
			// The kernel closes the pipe however the supervisor died. A parent death signal would not work: it fires
			// when the forking thread ends.
			_, _ = io.Copy(io.Discard, os.Stdin)
			end(errAsked)
		}()
	}

	return ctx, end
}

// reason returns why ctx ended, or nil if a signal or EOF ended it.
func reason(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, errAsked) {
		return cause
	}

	return nil
}
